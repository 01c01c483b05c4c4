"""Hooks of monitored sessions: the order of their calls, what ends a session, what is written."""

import os
import tempfile


def counting(tf):
    """The global step, and what adds 1 to it."""
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def watching(tf, log, name, fetches=None, stop=None, fail=()):
    """A hook that notes its calls; it asks to stop after so many, and raises errors in turn."""

    class Watching(tf.train.SessionRunHook):
        calls = 0

        def begin(self):
            log.append([name, "begin"])

        def after_create_session(self, session, coord):
            log.append([name, "created", type(coord).__name__])

        def before_run(self, run_context):
            log.append([name, "before", run_context.stop_requested])
            return None if fetches is None else tf.train.SessionRunArgs(fetches)

        def after_run(self, run_context, run_values):
            log.append([name, "after", run_values.results, run_context.stop_requested])
            Watching.calls += 1
            if Watching.calls <= len(fail) and fail[Watching.calls - 1] is not None:
                raise fail[Watching.calls - 1]
            if Watching.calls == stop:
                run_context.request_stop()

        def end(self, session):
            log.append([name, "end"])

    return Watching()


def noting(log, body):
    """What was noted while `body` ran; what it raised by class."""
    try:
        body()
    except Exception as error:  # the class is what the program asks about
        log.append(type(error).__name__)
    return log


def order_of_hooks(tf, np):
    _, grow = counting(tf)
    log = []
    hooks = [watching(tf, log, "a", grow, stop=2), watching(tf, log, "b")]
    chief = [watching(tf, log, "chief")]

    def body():
        with tf.train.MonitoredTrainingSession(hooks=hooks, chief_only_hooks=chief) as session:
            while not session.should_stop():
                log.append(session.run(grow))

    return noting(log, body)


def order_with_checkpoints(tf, np):
    """Checkpoints are saved before the hooks of the user are told of a run."""
    _, grow = counting(tf)
    log = []

    class Listener(tf.train.CheckpointSaverListener):
        def begin(self):
            log.append("begin")

        def before_save(self, session, global_step_value):
            log.append(["before_save", int(global_step_value)])

        def after_save(self, session, global_step_value):
            log.append(["after_save", int(global_step_value)])
            return global_step_value >= 4

        def end(self, session, global_step_value):
            log.append(["end", int(global_step_value)])

    with tempfile.TemporaryDirectory() as folder:
        saving = tf.train.CheckpointSaverHook(folder, save_steps=2, listeners=[Listener()])
        with tf.train.MonitoredSession(hooks=[saving, watching(tf, log, "a")]) as session:
            while not session.should_stop():
                session.run(grow)
    return log


def errors_end_without_end(tf, np):
    _, grow = counting(tf)
    logs = []
    for error in (ValueError("x"), tf.errors.OutOfRangeError(None, None, "x"), StopIteration()):
        log = []

        def body(log=log, error=error):
            with tf.train.SingularMonitoredSession(hooks=[watching(tf, log, "a")]) as session:
                session.run(grow)
                raise error

        logs.append(noting(log, body))
    return logs


def errors_in_hooks(tf, np):
    _, grow = counting(tf)
    log = []
    hooks = [watching(tf, log, "a", fail=[ValueError("x")]), watching(tf, log, "b")]

    def body():
        with tf.train.MonitoredSession(hooks=hooks) as session:
            session.run(grow)

    return noting(log, body)


def sessions_that_are_made_again(tf, np):
    _, grow = counting(tf)
    log = []
    lost = tf.errors.UnavailableError(None, None, "x")
    hook = watching(tf, log, "a", fail=[lost, None, tf.errors.AbortedError(None, None, "x")])
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(3):
            log.append(session.run(grow))
    return log


def sessions_that_are_not(tf, np):
    _, grow = counting(tf)
    log = []
    lost = tf.errors.UnavailableError(None, None, "x")

    def body():
        hooks = [watching(tf, log, "a", fail=[lost])]
        with tf.train.SingularMonitoredSession(hooks=hooks) as session:
            session.run(grow)

    return noting(log, body)


def functions_of_steps(tf, np):
    _, grow = counting(tf)
    log = []
    with tf.train.MonitoredSession(hooks=[watching(tf, log, "a")]) as session:
        log.append(session.run_step_fn(lambda step_context: step_context.session.run(grow)))
        log.append(session.run_step_fn(lambda step_context: step_context.run_with_hooks(grow)))
        for bad in (lambda: 1, lambda a, b: 1, 3, lambda context: 1):
            noting(log, lambda bad=bad: session.run_step_fn(bad))
        session.run_step_fn(lambda step_context: step_context.request_stop())
    return log


def stop_asked_for_early(tf, np):
    _, grow = counting(tf)
    log = []

    class Stopping(tf.train.SessionRunHook):
        def before_run(self, run_context):
            run_context.request_stop()

    with tf.train.MonitoredSession(hooks=[Stopping(), watching(tf, log, "a")]) as session:
        log += [session.run(grow), session.should_stop()]
        noting(log, lambda: session.run(grow))
    return log


def what_hooks_are_given(tf, np):
    step, grow = counting(tf)
    log = []

    class Asking(tf.train.SessionRunHook):
        def before_run(self, run_context):
            options = tf.RunOptions(trace_level=tf.RunOptions.SOFTWARE_TRACE)
            return tf.train.SessionRunArgs({"a": [grow, {"b": grow}]}, options=options)

        def after_run(self, run_context, run_values):
            kinds = [type(run_values.options).__name__, type(run_values.run_metadata).__name__]
            log.append([run_values.results, run_values.options.trace_level, kinds])
            log.append(run_context.original_args.feed_dict)

    with tf.train.MonitoredSession(hooks=[Asking()]) as session:
        log.append(session.run(grow))
    return log


def initializers_that_do_not(tf, np):
    counting(tf)
    scaffold = tf.train.Scaffold(init_op=tf.no_op())
    return noting([], lambda: tf.train.MonitoredTrainingSession(scaffold=scaffold))


def variables_of_a_feed_and_tables(tf, np):
    given = tf.placeholder(tf.float32, [])
    v = tf.get_variable("v", initializer=given)
    local = tf.get_local_variable("local", initializer=3.0)
    entries = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    found = tf.lookup.StaticHashTable(entries, -1).lookup(tf.constant(["b", "c"]))
    scaffold = tf.train.Scaffold(init_feed_dict={given: 4.0})
    with tf.train.MonitoredTrainingSession(scaffold=scaffold) as session:
        return session.run([v, local, found])


def files_of_a_training(tf, np):
    """Checkpoints that are kept, also over sessions, and the events beside them."""
    step, grow = counting(tf)
    loss = tf.cast(grow, tf.float32) * 0.0
    tf.summary.scalar("loss", loss)
    with tempfile.TemporaryDirectory() as folder:
        kept = []
        for _ in range(2):
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=folder,
                save_checkpoint_steps=2,
                save_summaries_steps=2,
                log_step_count_steps=None,
            ) as session:
                for _ in range(5):
                    session.run(loss)
            kept.append(sorted(f for f in os.listdir(folder) if f.endswith(".index")))
        tf.summary.FileWriterCache.clear()
        events = [
            [event.step, event.WhichOneof("what"), [v.tag for v in event.summary.value]]
            for name in sorted(os.listdir(folder))
            if "events" in name
            for event in tf.train.summary_iterator(os.path.join(folder, name))
        ]
        return [kept, events, "graph.pbtxt" in os.listdir(folder)]


def waiting_for_a_step(tf, np):
    _, grow = counting(tf)
    with tf.train.MonitoredSession(hooks=[tf.train.GlobalStepWaiterHook(0)]) as session:
        return session.run(grow)


PROGRAMS = [
    order_of_hooks,
    order_with_checkpoints,
    errors_end_without_end,
    errors_in_hooks,
    sessions_that_are_made_again,
    sessions_that_are_not,
    functions_of_steps,
    stop_asked_for_early,
    what_hooks_are_given,
    initializers_that_do_not,
    variables_of_a_feed_and_tables,
    files_of_a_training,
    waiting_for_a_step,
]
