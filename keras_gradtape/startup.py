"""Wait for the import of Keras, and install the hook if this backend is asked for.

It is run when Python starts (keras_gradtape.pth), or by the import of gradtape, where Python reads no such file.

So KERAS_BACKEND may be set in the shell, or by the script before it imports Keras. Where nothing chooses a backend, Keras takes
TensorFlow; a program that has imported gradtape, and has no TensorFlow, gets this one. With GRADTAPE_AS_TENSORFLOW=1, which
processes inherit from `gradtape run`, the import of TensorFlow is waited for too, and gives gradtape. Nothing else is imported.
"""

import os
import sys


class KerasIsImported:
    """The first finder that is asked for `keras`. It finds nothing; it only sees the moment.

    It waits on where the hook was not installed: a library may only look whether Keras is there.
    """

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname != "keras":
            return
        from keras_gradtape import choosing

        if "gradtape" in sys.modules and choosing.nothing_else_is_chosen():
            os.environ["KERAS_BACKEND"] = choosing.NAME
        choosing.choose()
        if os.environ.get("KERAS_BACKEND") == choosing.NAME:
            from keras_gradtape import hook

            sys.meta_path.remove(KerasIsImported)  # the hook asks where Keras is
            try:
                hook.install()
            except BaseException:
                sys.meta_path.insert(0, KerasIsImported)
                raise


class TensorflowIsImported:
    """The first finder that is asked for `tensorflow`: it makes `gradtape.as_tensorflow` ready, which finds it."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if fullname != "tensorflow":
            return None
        sys.meta_path.remove(TensorflowIsImported)
        import gradtape

        gradtape.as_tensorflow()
        return sys.meta_path[0].find_spec(fullname, path, target)


if "keras" not in sys.modules:
    sys.meta_path.insert(0, KerasIsImported)
if os.environ.get("GRADTAPE_AS_TENSORFLOW") == "1":
    sys.meta_path.insert(0, TensorflowIsImported)
