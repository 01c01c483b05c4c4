"""tf.logging: which messages get through, at which levels."""

import logging


def listening(tf, run):
    """The messages that reach the logger `tensorflow` while `run` is running."""
    seen, logger = [], tf.get_logger()

    class Keeper(logging.Handler):
        def emit(self, record):
            seen.append([record.levelname, record.getMessage()])

    keeper, level, filters = Keeper(), logger.level, logger.filters[:]
    logger.addHandler(keeper)
    try:
        run()
    finally:
        logger.removeHandler(keeper)
        logger.setLevel(level)
        logger.filters[:] = filters
    return seen


def levels(tf, np):
    names = ("DEBUG", "INFO", "WARN", "ERROR", "FATAL")
    return {name: getattr(tf.logging, name) for name in names}


def messages(tf, np):
    log = tf.logging

    def run():
        for level in (log.DEBUG, log.WARN, log.ERROR):
            log.set_verbosity(level)
            log.debug("debug %d", level)
            log.info("info %s", "text")
            log.warning("warning")
            log.warn("warn %d %d", 1, 2)
            log.error("error")
            log.fatal("fatal")

    return listening(tf, run)


def of_a_level(tf, np):
    log = tf.logging

    def run():
        log.set_verbosity(log.INFO)
        log.log(log.INFO, "one %d", 1)
        log.log(log.DEBUG, "not seen")
        log.vlog(log.ERROR, "two")
        log.log_if(log.WARN, "three", True)
        log.log_if(log.WARN, "not seen", False)
        log.TaskLevelStatusMessage("four")

    return listening(tf, run)


def now_and_then(tf, np):
    log = tf.logging

    def run():
        log.set_verbosity(log.INFO)
        for number in range(7):
            log.log_every_n(log.INFO, "every third: %d", 3, number)

    return listening(tf, run)


def verbosity(tf, np):
    log, before = tf.logging, tf.logging.get_verbosity()
    found = []
    try:
        for level in (log.DEBUG, log.ERROR):
            log.set_verbosity(level)
            found.append([log.get_verbosity() == level, tf.get_logger().level == level])
    finally:
        log.set_verbosity(before)
    return found


PROGRAMS = [levels, messages, of_a_level, now_and_then, verbosity]
