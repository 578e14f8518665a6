"""Training as in TensorFlow 1: optimizers, learning rates that change, the global step. The rest is `tf.train`."""

from gradtape._src.compat.v1_names import falls_back as _falls_back
from gradtape._src.control.graph_def import write_graph as write_graph
from gradtape._src.train.reader import NewCheckpointReader as NewCheckpointReader
from gradtape._src.v1.monitored.coordinator import Coordinator as Coordinator
from gradtape._src.v1.monitored.hook import (
    SessionRunArgs as SessionRunArgs,
    SessionRunContext as SessionRunContext,
    SessionRunHook as SessionRunHook,
    SessionRunValues as SessionRunValues,
)
from gradtape._src.v1.monitored.hooks import (
    FeedFnHook as FeedFnHook,
    FinalOpsHook as FinalOpsHook,
    LoggingTensorHook as LoggingTensorHook,
    NanLossDuringTrainingError as NanLossDuringTrainingError,
    NanTensorHook as NanTensorHook,
    StopAtStepHook as StopAtStepHook,
)
from gradtape._src.v1.monitored.saving import (
    CheckpointSaverHook as CheckpointSaverHook,
    CheckpointSaverListener as CheckpointSaverListener,
    StepCounterHook as StepCounterHook,
    SummarySaverHook as SummarySaverHook,
)
from gradtape._src.v1.monitored.scaffold import Scaffold as Scaffold
from gradtape._src.v1.monitored.session import (
    ChiefSessionCreator as ChiefSessionCreator,
    MonitoredSession as MonitoredSession,
    MonitoredTrainingSession as MonitoredTrainingSession,
    SessionCreator as SessionCreator,
    SingularMonitoredSession as SingularMonitoredSession,
)
from gradtape._src.v1.monitored.timer import SecondOrStepTimer as SecondOrStepTimer
from gradtape._src.v1.optimizers.averages import ExponentialMovingAverage as ExponentialMovingAverage
from gradtape._src.v1.optimizers.first import Optimizer as Optimizer
from gradtape._src.v1.optimizers.proximal import (
    AdagradDAOptimizer as AdagradDAOptimizer,
    ProximalAdagradOptimizer as ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer,
)
from gradtape._src.v1.optimizers.rates import (
    assert_global_step as assert_global_step,
    cosine_decay as cosine_decay,
    cosine_decay_restarts as cosine_decay_restarts,
    create_global_step as create_global_step,
    exponential_decay as exponential_decay,
    get_global_step as get_global_step,
    get_or_create_global_step as get_or_create_global_step,
    global_step as global_step,
    inverse_time_decay as inverse_time_decay,
    linear_cosine_decay as linear_cosine_decay,
    natural_exp_decay as natural_exp_decay,
    noisy_linear_cosine_decay as noisy_linear_cosine_decay,
    piecewise_constant as piecewise_constant,
    piecewise_constant_decay as piecewise_constant_decay,
    polynomial_decay as polynomial_decay,
)
from gradtape._src.v1.optimizers.rules import (
    AdadeltaOptimizer as AdadeltaOptimizer,
    AdagradOptimizer as AdagradOptimizer,
    AdamOptimizer as AdamOptimizer,
    FtrlOptimizer as FtrlOptimizer,
    GradientDescentOptimizer as GradientDescentOptimizer,
    MomentumOptimizer as MomentumOptimizer,
    RMSPropOptimizer as RMSPropOptimizer,
)
from gradtape._src.v1.saver import (
    Saver as Saver,
    checkpoint_exists as checkpoint_exists,
    init_from_checkpoint as init_from_checkpoint,
)
from gradtape._src.v1.summary import summary_iterator as summary_iterator

__getattr__ = _falls_back(__name__, "train")
