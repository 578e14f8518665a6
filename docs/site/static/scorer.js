// How results of the search are ordered. A name of TensorFlow 1 stands behind one of the same kind of match that is none.
var Scorer = {
  score: ([page, , , , score]) => (page.includes("compat.v1") ? score - 4 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
