"""Saving and restoring variables within a temporary folder."""

import os
import tempfile

from programs.support import raised, run


def two_variables(tf, np, factor=1.0):
    """Variables `v` and `w`, multiplied by a factor."""
    v = tf.get_variable("v", initializer=np.float32([1, 2]) * np.float32(factor))
    w = tf.get_variable("w", initializer=np.int32(3 * factor))
    return [v, w]


def started(tf):
    """A session with its variables initialized."""
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


def save_and_restore(tf, np):
    v, w = two_variables(tf, np)
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder, started(tf) as session:
        path = saver.save(session, os.path.join(folder, "model"))
        session.run([tf.assign(v, [9.0, 9.0]), tf.assign(w, 9)])
        saver.restore(session, path)
        return [os.path.basename(path), session.run([v, w])]


def restore_initializes(tf, np):
    v, w = two_variables(tf, np)
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder:
        with started(tf) as session:
            path = saver.save(session, os.path.join(folder, "model"))
        with tf.Session() as session:
            before = raised(lambda: session.run(v))
            saver.restore(session, path)
            return [
                before,
                session.run([v, w]),
                len(session.run(tf.report_uninitialized_variables())),
            ]


def restore_into_a_new_graph(tf, np):
    two_variables(tf, np)
    with tempfile.TemporaryDirectory() as folder:
        with started(tf) as session:
            path = tf.train.Saver().save(session, os.path.join(folder, "model"))
        with tf.Graph().as_default():
            v, w = two_variables(tf, np, factor=10)
            with tf.Session() as session:
                tf.train.Saver().restore(session, path)
                return session.run([v, w])


def steps_in_the_name(tf, np):
    two_variables(tf, np)
    step = tf.train.get_or_create_global_step()
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder, started(tf) as session:
        session.run(tf.assign(step, 42))
        paths = [
            saver.save(session, os.path.join(folder, "model"), global_step=7),
            saver.save(session, os.path.join(folder, "model"), global_step=step),
        ]
        return [os.path.basename(path) for path in paths]


def only_the_last_are_kept(tf, np):
    v, _ = two_variables(tf, np)
    saver = tf.train.Saver(max_to_keep=2)
    with tempfile.TemporaryDirectory() as folder, started(tf) as session:
        for step in range(4):
            saver.save(session, os.path.join(folder, "model"), global_step=step)
        there = [
            tf.train.checkpoint_exists(os.path.join(folder, f"model-{step}")) for step in range(4)
        ]
        latest = os.path.basename(tf.train.latest_checkpoint(folder))
        return [there, latest, [os.path.basename(path) for path in saver.last_checkpoints]]


def all_are_kept(tf, np):
    two_variables(tf, np)
    saver = tf.train.Saver(max_to_keep=None)
    with tempfile.TemporaryDirectory() as folder, started(tf) as session:
        paths = [saver.save(session, os.path.join(folder, "m"), global_step=s) for s in range(7)]
        return [tf.train.checkpoint_exists(path) for path in paths]


def latest_checkpoint(tf, np):
    two_variables(tf, np)
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder, started(tf) as session:
        found = [tf.train.latest_checkpoint(folder)]
        for step in (1, 20, 3):
            saver.save(session, os.path.join(folder, "model"), global_step=step)
            found.append(os.path.basename(tf.train.latest_checkpoint(folder)))
        state = tf.train.get_checkpoint_state(folder)
        names = [os.path.basename(path) for path in state.all_model_checkpoint_paths]
        return [found, names, os.path.basename(state.model_checkpoint_path)]


def some_variables(tf, np):
    v, w = two_variables(tf, np)
    saver = tf.train.Saver([v])
    with tempfile.TemporaryDirectory() as folder, started(tf) as session:
        path = saver.save(session, os.path.join(folder, "model"))
        session.run([tf.assign(v, [9.0, 9.0]), tf.assign(w, 9)])
        saver.restore(session, path)
        return [session.run([v, w]), [name for name, _ in tf.train.list_variables(path)]]


def renamed_variables(tf, np):
    v, w = two_variables(tf, np)
    with tempfile.TemporaryDirectory() as folder:
        with started(tf) as session:
            saver = tf.train.Saver({"old/name": v, "count": w})
            path = saver.save(session, os.path.join(folder, "model"))
        listed = tf.train.list_variables(path)
        with tf.Graph().as_default():
            u = tf.get_variable("new", [2])
            with tf.Session() as session:
                tf.train.Saver({"old/name": u}).restore(session, path)
                return [listed, session.run(u)]


def missing_variables(tf, np):
    two_variables(tf, np)
    with tempfile.TemporaryDirectory() as folder:
        with started(tf) as session:
            path = tf.train.Saver().save(session, os.path.join(folder, "model"))
        with tf.Graph().as_default():
            tf.get_variable("v", [2])
            tf.get_variable("unknown", [2])
            with tf.Session() as session:
                return raised(lambda: tf.train.Saver().restore(session, path))


def wrong_dtypes(tf, np):
    two_variables(tf, np)

    def restore(dtype):
        with tf.Graph().as_default():
            tf.get_variable("v", [2], dtype)
            with tf.Session() as session:
                tf.train.Saver().restore(session, path)

    with tempfile.TemporaryDirectory() as folder:
        with started(tf) as session:
            path = tf.train.Saver().save(session, os.path.join(folder, "model"))
        return [
            raised(lambda: restore(tf.float64)),
            raised(lambda: restore(tf.float32)),
        ]


def missing_files(tf, np):
    two_variables(tf, np)
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder, tf.Session() as session:
        return [
            raised(lambda: saver.restore(session, os.path.join(folder, "none"))),
            raised(lambda: saver.restore(session, None)),
            tf.train.checkpoint_exists(os.path.join(folder, "none")),
            tf.train.latest_checkpoint(folder),
        ]


def saver_without_variables(tf, np):
    return raised(lambda: tf.train.Saver())


def saving_what_is_uninitialized(tf, np):
    two_variables(tf, np)
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder, tf.Session() as session:
        return raised(lambda: saver.save(session, os.path.join(folder, "model")))


def folders_that_do_not_exist(tf, np):
    two_variables(tf, np)
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder, started(tf) as session:
        path = saver.save(session, os.path.join(folder, "a", "model"))
        return [os.path.relpath(path, folder), tf.train.checkpoint_exists(path)]


def every_dtype(tf, np):
    kinds = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 bool complex64 complex128"
    made = [tf.Variable(np.array([[1, 0], [3, 1]], kind), name=kind) for kind in kinds.split()]
    made.append(tf.Variable(["text", "and more"], name="string"))
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder:
        with started(tf) as session:
            path = saver.save(session, os.path.join(folder, "model"))
        with tf.Session() as session:
            saver.restore(session, path)
            return session.run(made)


def checkpoint_reader(tf, np):
    two_variables(tf, np)
    with tempfile.TemporaryDirectory() as folder:
        with started(tf) as session:
            path = tf.train.Saver().save(session, os.path.join(folder, "model"))
        reader = tf.train.NewCheckpointReader(path)
        return [
            dict(sorted(reader.get_variable_to_shape_map().items())),
            reader.get_tensor("v"),
            reader.has_tensor("w"),
            reader.has_tensor("x"),
            tf.train.load_variable(path, "w"),
            tf.train.list_variables(path),
        ]


def restore_by_initializers(tf, np):
    two_variables(tf, np)
    with tempfile.TemporaryDirectory() as folder:
        with started(tf) as session:
            path = tf.train.Saver().save(session, os.path.join(folder, "model"))
        with tf.Graph().as_default():
            with tf.variable_scope("inner"):
                u = tf.get_variable("v", [2])
            tf.train.init_from_checkpoint(path, {"v": "inner/v"})
            return run(tf, u)


def training_goes_on_where_it_stopped(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v * v))
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder:
        with started(tf) as session:
            for _ in range(3):
                session.run(step)
            path = saver.save(session, os.path.join(folder, "model"))
            session.run(step)
            unbroken = session.run(v)
        with tf.Session() as session:
            saver.restore(session, path)
            session.run(step)
            return [unbroken, session.run(v)]


def moving_averages_restored(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    averages = tf.train.ExponentialMovingAverage(0.5)
    update = averages.apply([v])
    with tempfile.TemporaryDirectory() as folder:
        with started(tf) as session:
            session.run(tf.assign(v, [5.0, 6.0]))
            session.run(update)
            path = tf.train.Saver().save(session, os.path.join(folder, "model"))
        with tf.Session() as session:
            tf.train.Saver(averages.variables_to_restore()).restore(session, path)
            return session.run(v)


def meta_graph_brings_the_graph_back(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    x = tf.placeholder(tf.float32, [2], name="x")
    tf.multiply(x, v, name="y")
    with tempfile.TemporaryDirectory() as folder:
        with started(tf) as session:
            path = tf.train.Saver().save(session, os.path.join(folder, "model"))
        with tf.Graph().as_default(), tf.Session() as session:
            tf.train.import_meta_graph(path + ".meta").restore(session, path)
            return session.run("y:0", {"x:0": [10.0, 100.0]})


def exported_meta_graph(tf, np):
    v = tf.get_variable("v", initializer=np.float32([1, 2]))
    y = tf.multiply(v, 3.0, name="y")
    tf.add_to_collection("results", y)
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta)
        results = tf.get_collection("results")
        variables = [v.name for v in tf.global_variables()]
        return [[r.name for r in results], variables, run(tf, results)]


def saver_of_a_meta_graph_without_variables(tf, np):
    tf.constant(1.0, name="c")
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        return [tf.train.import_meta_graph(meta) is None, run(tf, "c:0")]


def damaged_checkpoint(tf, np):
    two_variables(tf, np)
    saver = tf.train.Saver()
    with tempfile.TemporaryDirectory() as folder, started(tf) as session:
        path = saver.save(session, os.path.join(folder, "model"))
        for name in os.listdir(folder):
            if name.startswith("model."):
                with open(os.path.join(folder, name), "r+b") as file:
                    file.truncate(5)
        return raised(lambda: saver.restore(session, path)) is not None


PROGRAMS = [
    save_and_restore,
    restore_initializes,
    restore_into_a_new_graph,
    steps_in_the_name,
    only_the_last_are_kept,
    all_are_kept,
    latest_checkpoint,
    some_variables,
    renamed_variables,
    missing_variables,
    wrong_dtypes,
    missing_files,
    saver_without_variables,
    saving_what_is_uninitialized,
    folders_that_do_not_exist,
    every_dtype,
    checkpoint_reader,
    restore_by_initializers,
    training_goes_on_where_it_stopped,
    moving_averages_restored,
    meta_graph_brings_the_graph_back,
    exported_meta_graph,
    saver_of_a_meta_graph_without_variables,
    damaged_checkpoint,
]
