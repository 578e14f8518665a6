from gradtape._src.ops.ragged import (
    elementwise as elementwise,
    joining as joining,
    moving as moving,
    products as products,
    reductions as reductions,
)
