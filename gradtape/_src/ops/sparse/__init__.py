from gradtape._src.ops.sparse import counting as counting, elementwise as elementwise
