"""Values written for TensorBoard."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.summary.summary import (
    SummaryWriter as SummaryWriter,
    audio as audio,
    create_file_writer as create_file_writer,
    create_noop_writer as create_noop_writer,
    flush as flush,
    graph as graph,
    histogram as histogram,
    image as image,
    record_if as record_if,
    scalar as scalar,
    should_record_summaries as should_record_summaries,
    text as text,
    write as write,
)
from gradtape._src.summary.tracing import trace_export as trace_export, trace_off as trace_off, trace_on as trace_on
from gradtape.summary import experimental as experimental

__getattr__ = _missing(__name__)
