from gradtape._src.operators import functions as functions
