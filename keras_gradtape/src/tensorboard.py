"""Profiler traces of batches for `keras.callbacks.TensorBoard`."""

import gradtape as tf


def start_trace(logdir):
    """Start a trace to the folder `logdir`. Without a folder it is a warm-up, which JAX's profiler does not need."""
    if logdir:
        tf.profiler.experimental.start(logdir)


def stop_trace(save):
    """Stop the trace and save it. A trace that is not saved was never started."""
    if save:
        tf.profiler.experimental.stop()


def start_batch_trace(batch):
    """Mark the start of a batch; return its context."""
    context = tf.profiler.experimental.Trace("Profiled batch", step_num=batch)
    context.__enter__()
    return context


def stop_batch_trace(batch_trace_context):
    """Mark the end of a batch."""
    batch_trace_context.__exit__(None, None, None)
