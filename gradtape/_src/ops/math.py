"""For the time being: all element-wise functions in one place, until the imports of the other files follow the split."""

from gradtape._src.ops.arithmetic import *  # noqa: F403
from gradtape._src.ops.cast import *  # noqa: F403
from gradtape._src.ops.compare import *  # noqa: F403
from gradtape._src.ops.complex import *  # noqa: F403
from gradtape._src.ops.elementary import *  # noqa: F403
from gradtape._src.ops.rounding import *  # noqa: F403
