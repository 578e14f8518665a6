"""gradtape: TensorFlow's automatic differentiation, as a library of its own. `import gradtape as tf`."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from gradtape._src.core.base.importing import importing as _importing

with _importing():
    # Core
    from gradtape import (
        __internal__ as __internal__,
        audio as audio,
        autodiff as autodiff,
        autograph as autograph,
        bitwise as bitwise,
        config as config,
        data as data,
        distribute as distribute,
        dtypes as dtypes,
        errors as errors,
        experimental as experimental,
        figures as figures,
        image as image,
        io as io,
        linalg as linalg,
        lookup as lookup,
        math as math,
        nest as nest,
        optimizers as optimizers,
        profiler as profiler,
        quantization as quantization,
        queue as queue,
        ragged as ragged,
        raw_ops as raw_ops,
        saved_model as saved_model,
        sets as sets,
        signal as signal,
        sparse as sparse,
        strings as strings,
        summary as summary,
        sysconfig as sysconfig,
        test as test,
        train as train,
        types as types,
        version as version,
        xla as xla,
    )
    from gradtape._src.autodiff.custom import (
        custom_gradient as custom_gradient,
        grad_pass_through as grad_pass_through,
        recompute_grad as recompute_grad,
    )
    from gradtape._src.autodiff.options import (
        AggregationMethod as AggregationMethod,
        UnconnectedGradients as UnconnectedGradients,
    )
    from gradtape._src.autodiff.overrides import gradient_override_map as gradient_override_map
    from gradtape._src.autodiff.tape import GradientTape as GradientTape
    from gradtape._src.compat.names import listed as _listed, missing as _missing
    from gradtape._src.core.settings.config import get_logger as get_logger
    from gradtape._src.core.tensors.convert import (
        constant as constant,
        convert_to_tensor as convert_to_tensor,
    )
    from gradtape._src.core.tensors.conversions import register_tensor_conversion_function as register_tensor_conversion_function
    from gradtape._src.core.values.creators import (
        VariableAggregation as VariableAggregation,
        VariableSynchronization as VariableSynchronization,
        variable_creator_scope as variable_creator_scope,
    )
    from gradtape._src.core.values.device_spec import DeviceSpec as DeviceSpec
    from gradtape._src.core.values.dtypes import (
        DType as DType,
        public_as_dtype as _public_as_dtype,
        bfloat16 as bfloat16,
        bool as bool,
        complex64 as complex64,
        complex128 as complex128,
        double as double,
        float16 as float16,
        float32 as float32,
        float64 as float64,
        half as half,
        int8 as int8,
        int16 as int16,
        int32 as int32,
        int64 as int64,
        qint8 as qint8,
        qint16 as qint16,
        qint32 as qint32,
        quint8 as quint8,
        quint16 as quint16,
        resource as resource,
        string as string,
        uint8 as uint8,
        uint16 as uint16,
        uint32 as uint32,
        uint64 as uint64,
        variant as variant,
    )
    from gradtape._src.core.tensors.indexed_slices import IndexedSlices as IndexedSlices
    from gradtape._src.core.declarations.module import Module as Module
    from gradtape._src.core.programs.op import RegisterGradient as RegisterGradient, no_gradient_of as _no_gradient_of
    from gradtape._src.core.tensors.scopes import (
        control_dependencies as control_dependencies,
        device as device,
        executing_eagerly as executing_eagerly,
        get_current_name_scope as get_current_name_scope,
        get_static_value as get_static_value,
        init_scope as init_scope,
        inside_function as inside_function,
        name_scope as name_scope,
    )
    from gradtape._src.core.values.shape import TensorShape as TensorShape
    from gradtape._src.core.declarations.spec import (
        IndexedSlicesSpec as IndexedSlicesSpec,
        NoneTensorSpec as NoneTensorSpec,
        TensorSpec as TensorSpec,
        TypeSpec as TypeSpec,
        type_spec_from_value as type_spec_from_value,
    )
    from gradtape._src.data.optional import OptionalSpec as OptionalSpec
    from gradtape._src.core.tensors.tensor import Tensor as Tensor, is_symbolic_tensor as is_symbolic_tensor
    from gradtape._src.core.tensors.variable import Variable as Variable

    # Functions and control flow
    from gradtape._src.control.branch import case as case, cond as cond, switch_case as switch_case
    from gradtape._src.control.critical_section import CriticalSection as CriticalSection
    from gradtape._src.control.function import function as function
    from gradtape._src.control.host import (
        numpy_function as numpy_function,
        py_function as py_function,
    )
    from gradtape._src.control.jax_functions import jax_function as jax_function
    from gradtape._src.control.loop import while_loop as while_loop
    from gradtape._src.control.mapping import (
        foldl as foldl,
        foldr as foldr,
        map_fn as map_fn,
        scan as scan,
    )
    from gradtape._src.control.tensor_array import TensorArray as TensorArray, TensorArraySpec as TensorArraySpec
    from gradtape._src.control.vectorized_map import vectorized_map as vectorized_map

    # Arrays: making, shaping, joining, indexing
    from gradtape._src.ops.array.shape import (
        broadcast_dynamic_shape as broadcast_dynamic_shape,
        broadcast_static_shape as broadcast_static_shape,
        broadcast_to as broadcast_to,
        ensure_shape as ensure_shape,
        expand_dims as expand_dims,
        identity as identity,
        identity_n as identity_n,
        ones as ones,
        reshape as reshape,
        squeeze as squeeze,
        stop_gradient as stop_gradient,
        transpose as transpose,
        zeros as zeros,
    )
    from gradtape._src.ops.array.extents import rank as rank, shape as shape, shape_n as shape_n, size as size
    from gradtape._src.ops.array.blocks import (
        batch_to_space as batch_to_space,
        required_space_to_batch_paddings as required_space_to_batch_paddings,
        space_to_batch as space_to_batch,
        space_to_batch_nd as space_to_batch_nd,
    )
    from gradtape._src.ops.array.creation import (
        eye as eye,
        fill as fill,
        linspace as linspace,
        meshgrid as meshgrid,
        one_hot as one_hot,
        ones_like as ones_like,
        range_ as _range,
        sequence_mask as sequence_mask,
        unravel_index as unravel_index,
        zeros_like as zeros_like,
    )
    from gradtape._src.ops.array.gather import gather as gather
    from gradtape._src.ops.grouping import group as group, no_op as no_op, tuple_ as _tuple
    from gradtape._src.ops.array.indexing import newaxis as newaxis, slice_ as _slice, strided_slice as strided_slice
    from gradtape._src.ops.array.joining import (
        concat as concat,
        parallel_stack as parallel_stack,
        split as split,
        stack as stack,
        unstack as unstack,
    )
    from gradtape._src.ops.nn.patches import extract_volume_patches as extract_volume_patches
    from gradtape._src.ops.array.points import (
        gather_nd as gather_nd,
        scatter_nd as scatter_nd,
        tensor_scatter_nd_add as tensor_scatter_nd_add,
        tensor_scatter_nd_max as tensor_scatter_nd_max,
        tensor_scatter_nd_min as tensor_scatter_nd_min,
        tensor_scatter_nd_sub as tensor_scatter_nd_sub,
        tensor_scatter_nd_update as tensor_scatter_nd_update,
    )
    from gradtape._src.ops.array.rearrange import (
        pad as pad,
        repeat as repeat,
        reverse as reverse,
        reverse_sequence as reverse_sequence,
        roll as roll,
        tile as tile,
    )
    from gradtape._src.ops.array import scatter as _scatter
    from gradtape._src.ops.array.select import (
        boolean_mask as boolean_mask,
        dynamic_partition as dynamic_partition,
        dynamic_stitch as dynamic_stitch,
        unique as unique,
        unique_with_counts as unique_with_counts,
        where as where,
    )

    # Element-wise mathematics
    from gradtape._src.ops.math.arithmetic import (
        abs as abs,
        add as add,
        add_n as add_n,
        divide as divide,
        maximum as maximum,
        minimum as minimum,
        multiply as multiply,
        negative as negative,
        realdiv as realdiv,
        scalar_mul as scalar_mul,
        sign as sign,
        sqrt as sqrt,
        square as square,
        subtract as subtract,
        truediv as truediv,
    )
    from gradtape._src.ops.strings.numbers import as_string as as_string
    from gradtape._src.ops.array.cast import bitcast as bitcast, cast_unless_variable as _cast_unless_variable
    from gradtape._src.ops.math.clip import (
        clip_by_global_norm as clip_by_global_norm,
        clip_by_norm as clip_by_norm,
        clip_by_value as clip_by_value,
        saturate_cast as saturate_cast,
    )
    from gradtape._src.ops.math.compare import (
        equal as equal,
        greater as greater,
        greater_equal as greater_equal,
        less as less,
        less_equal as less_equal,
        logical_and as logical_and,
        logical_not as logical_not,
        logical_or as logical_or,
        not_equal as not_equal,
    )
    from gradtape._src.ops.math.complex import complex as complex
    from gradtape._src.ops.math.elementary import (
        acos as acos,
        acosh as acosh,
        asin as asin,
        asinh as asinh,
        atan as atan,
        atan2 as atan2,
        atanh as atanh,
        cos as cos,
        cosh as cosh,
        exp as exp,
        pow as pow,
        sin as sin,
        sinh as sinh,
        tan as tan,
        tanh as tanh,
    )
    from gradtape._src.ops.array.ragged import RaggedTensor as RaggedTensor, RaggedTensorSpec as RaggedTensorSpec
    from gradtape._src.ops.ragged.kinds import is_tensor as is_tensor
    from gradtape._src.ops.math.rounding import (
        floor as floor,
        round as round,
        truncatediv as truncatediv,
        truncatemod as truncatemod,
    )
    from gradtape._src.ops.sparse.parts import edit_distance as edit_distance
    from gradtape._src.ops.sparse.tensor import SparseTensor as SparseTensor, SparseTensorSpec as SparseTensorSpec
    from gradtape._src.ops.math.special import sigmoid as sigmoid

    # Tensors as messages
    from gradtape._src.files.tensors import make_ndarray as make_ndarray, make_tensor_proto as make_tensor_proto

    # Matrix products
    from gradtape._src.ops.linalg.decompositions import eig as eig, eigvals as eigvals
    from gradtape._src.ops.linalg.einsum import einsum as einsum
    from gradtape._src.ops.linalg.matmul import matmul as matmul, tensordot as tensordot
    from gradtape._src.ops.linalg.matrix_functions import sqrtm as _sqrtm
    from gradtape._src.ops.linalg.norms import norm as norm

    # Reductions, scans, sorting, counting
    from gradtape._src.ops.math.counting import (
        histogram_fixed_width as histogram_fixed_width,
        histogram_fixed_width_bins as histogram_fixed_width_bins,
    )
    from gradtape._src.ops.math.cumulative import cumsum as cumsum
    from gradtape._src.ops.math.reduction import (
        reduce_all as reduce_all,
        reduce_any as reduce_any,
        reduce_logsumexp as reduce_logsumexp,
        reduce_max as reduce_max,
        reduce_mean as reduce_mean,
        reduce_min as reduce_min,
        reduce_prod as reduce_prod,
        reduce_sum as reduce_sum,
    )
    from gradtape._src.ops.array.sort import (
        argmax as argmax,
        argmin as argmin,
        argsort as argsort,
        searchsorted as searchsorted,
        sort as sort,
    )

    # Random numbers, initial values, checks, printing
    from gradtape import debugging as debugging, nn as nn, random as random
    from gradtape._src.ops.debugging.checks import (
        Assert as Assert,
        assert_equal as assert_equal,
        assert_greater as assert_greater,
        assert_less as assert_less,
        assert_rank as assert_rank,
    )
    from gradtape._src.ops.debugging.clock import timestamp as timestamp
    from gradtape._src.ops.random.initializers import (
        constant_initializer as constant_initializer,
        ones_initializer as ones_initializer,
        random_normal_initializer as random_normal_initializer,
        random_uniform_initializer as random_uniform_initializer,
        zeros_initializer as zeros_initializer,
    )
    from gradtape._src.ops.debugging.printing import print as print

    from gradtape import compat as compat
    from gradtape._src.compat.door.opening import as_tensorflow as as_tensorflow

    # Where Python did not read keras_gradtape.pth when it started, Keras and TensorFlow are waited for from here on
    from keras_gradtape import startup as _startup

# Second names, assigned, as type checkers take `X as Y` for private
as_dtype = _public_as_dtype
cast = _cast_unless_variable
no_gradient = _no_gradient_of
range = _range
tuple = _tuple
slice = _slice
matrix_square_root = _sqrtm

if _TYPE_CHECKING:  # which are loaded when they are first asked for
    from gradtape import keras as keras
if _TYPE_CHECKING:
    from keras import initializers as initializers, losses as losses, metrics as metrics

__dir__ = _listed(__name__)
__getattr__ = _missing(__name__)
__version__ = "0.1.0"
