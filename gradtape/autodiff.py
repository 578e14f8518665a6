"""Tapes, and what gradtape adds to them."""

from gradtape._src.autodiff.check import GradientMismatch as GradientMismatch, check_gradients as check_gradients
from gradtape._src.autodiff.forward import ForwardAccumulator as ForwardAccumulator
from gradtape._src.autodiff.gradient_hooks import GradientHook as GradientHook
from gradtape._src.autodiff.tape import GradientTape as GradientTape
from gradtape._src.compat.names import missing as _missing
from gradtape._src.derivatives.clipping import clipped_gradients as clipped_gradients, per_example_norms as per_example_norms
from gradtape._src.derivatives.curvature import (
    fisher_diagonal as fisher_diagonal,
    ggn_diagonal as ggn_diagonal,
    kfac_factors as kfac_factors,
)
from gradtape._src.derivatives.directional import derivatives as derivatives, laplacian as laplacian
from gradtape._src.derivatives.estimates import (
    hessian_diagonal as hessian_diagonal,
    hessian_norm as hessian_norm,
    hessian_trace as hessian_trace,
)
from gradtape._src.derivatives.implicit import argmin as argmin, fixed_point as fixed_point, root as root
from gradtape._src.derivatives.jacobians import hessian as hessian, jacfwd as jacfwd, jacrev as jacrev
from gradtape._src.derivatives.linear_solve import linear_solve as linear_solve
from gradtape._src.derivatives.odeint import odeint as odeint, odeint_event as odeint_event
from gradtape._src.derivatives.per_example import per_example_gradients as per_example_gradients
from gradtape._src.derivatives.products import (
    gauss_newton_vp as gauss_newton_vp,
    hvp as hvp,
    jvp as jvp,
    linearize as linearize,
    vjp as vjp,
)
from gradtape._src.derivatives.recompute import recompute_grad as recompute_grad
from gradtape._src.derivatives.rerouted import (
    gradient_factors as gradient_factors,
    reverse_gradient as reverse_gradient,
    straight_through as straight_through,
)
from gradtape._src.derivatives.sparse_hessian import (
    hessian_sparsity as hessian_sparsity,
    sparse_hessian as sparse_hessian,
)
from gradtape._src.derivatives.sparse_jacobian import jacobian_sparsity as jacobian_sparsity, sparse_jacobian as sparse_jacobian
from gradtape._src.derivatives.sparse_solve import sparse_solve as sparse_solve
from gradtape._src.derivatives.sparsity import Sparsity as Sparsity
from gradtape._src.derivatives.spectral import (
    eigenvalue_function as eigenvalue_function,
    eigenvalue_sum as eigenvalue_sum,
    singular_value_function as singular_value_function,
    singular_value_sum as singular_value_sum,
)
from gradtape._src.derivatives.traces import (
    Spectrum as Spectrum,
    operator_trace as operator_trace,
    spectral_density as spectral_density,
)
from gradtape._src.explain.diagnosis import Diagnosis as Diagnosis
from gradtape._src.explain.explain import explain as explain, explain_nan as explain_nan

__getattr__ = _missing(__name__)
