"""The traces of batches by `keras.callbacks.TensorBoard`."""

import gradtape as tf


def start_trace(logdir):
    """Begin a trace for the folder `logdir`; one for no folder only warms up, which JAX's profiler does not need."""
    if logdir:
        tf.profiler.experimental.start(logdir)


def stop_trace(save):
    """End the trace, and save it; one that is not to be saved was never begun."""
    if save:
        tf.profiler.experimental.stop()


def start_batch_trace(batch):
    """Mark the begin of a batch; return what ends it."""
    context = tf.profiler.experimental.Trace("Profiled batch", step_num=batch)
    context.__enter__()
    return context


def stop_batch_trace(batch_trace_context):
    """Mark its end."""
    batch_trace_context.__exit__(None, None, None)
