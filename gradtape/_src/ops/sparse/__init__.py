from gradtape._src.ops.sparse import elementwise as elementwise
