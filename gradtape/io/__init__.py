"""Files, records, pictures and other encoded bytes."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.control.graph_def import write_graph as write_graph
from gradtape._src.files.access import (
    matching_files as matching_files,
    read_file as read_file,
    write_file as write_file,
)
from gradtape._src.files.csv import decode_csv as decode_csv
from gradtape._src.files.encodings import (
    decode_base64 as decode_base64,
    decode_compressed as decode_compressed,
    decode_raw as decode_raw,
    encode_base64 as encode_base64,
)
from gradtape._src.files.features import (
    FixedLenFeature as FixedLenFeature,
    FixedLenSequenceFeature as FixedLenSequenceFeature,
    RaggedFeature as RaggedFeature,
    SparseFeature as SparseFeature,
    VarLenFeature as VarLenFeature,
)
from gradtape._src.files.images import (
    decode_and_crop_jpeg as decode_and_crop_jpeg,
    decode_bmp as decode_bmp,
    decode_gif as decode_gif,
    decode_image as decode_image,
    decode_jpeg as decode_jpeg,
    decode_png as decode_png,
    decode_webp as decode_webp,
    encode_jpeg as encode_jpeg,
    encode_png as encode_png,
    extract_jpeg_shape as extract_jpeg_shape,
    is_jpeg as is_jpeg,
)
from gradtape._src.files.parsing import (
    decode_json_example as decode_json_example,
    parse_example as parse_example,
    parse_single_example as parse_single_example,
)
from gradtape._src.files.records import TFRecordOptions as TFRecordOptions, TFRecordWriter as TFRecordWriter
from gradtape._src.files.sequences import (
    parse_sequence_example as parse_sequence_example,
    parse_single_sequence_example as parse_single_sequence_example,
)
from gradtape._src.files.tensors import parse_tensor as parse_tensor, serialize_tensor as serialize_tensor
from gradtape.io import gfile as gfile

__getattr__ = _missing(__name__)
