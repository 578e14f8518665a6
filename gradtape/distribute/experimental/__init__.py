"""Options of several processes, as names. The strategies that take them are out of scope: making one says what to use."""

from gradtape._src.compat.names import missing as _missing
from gradtape._src.distribute.strategy import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from gradtape._src.distribute.values import (
    CollectiveHints as CollectiveHints,
    CommunicationImplementation as CommunicationImplementation,
    CommunicationOptions as CommunicationOptions,
    ValueContext as ValueContext,
)

# Second names, assigned, as type checkers take `X as Y` for private
CollectiveCommunication = CommunicationImplementation

__getattr__ = _missing(__name__)
