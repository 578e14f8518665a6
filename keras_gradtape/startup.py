"""Run when Python starts (keras_gradtape.pth): waits for the import of Keras, and installs the hook if this backend is asked for.

So KERAS_BACKEND may be set in the shell, or by the script before it imports Keras. Nothing else is imported here.
"""

import os
import sys


class KerasIsImported:
    """The first finder that is asked for `keras`. It finds nothing; it only sees the moment."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname == "keras":
            sys.meta_path.remove(KerasIsImported)
            if os.environ.get("KERAS_BACKEND") == "gradtape":
                from keras_gradtape import hook

                hook.install()


sys.meta_path.insert(0, KerasIsImported)
