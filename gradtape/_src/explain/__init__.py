from gradtape._src.explain import (
    alerts as alerts,
)  # what it observes is in force as soon as anything of the explainer is imported
