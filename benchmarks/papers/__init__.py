"""The papers, side by side: a module for each result.

Each row is a result of a paper, as printed there, and ours, by the command above its table. *2017*
and *2018* are Papernot et al. (arXiv 1610.05755 and 1802.08908), *near-zero-cost* is Sun et al.
(2020). Where several seeds ran, ours is mean ± standard deviation of single runs, with the lowest
and the highest in brackets; a seed changes what the setting says. delta is 1e-5 unless said
otherwise. Where a commit stands in place of a command, the numbers were made there, by a script
that is no longer kept. SVHN, the papers' second set of images, was not run:
2.3 GB that were not at hand.

Four epsilons: *bound* is the papers' bound, converted as they did: it depends on the votes, so it
is private, and it bounds one direction. *Exact* is the cost of the same votes, computed: private
too. *Data-independent* holds whatever the data are: it may be published; it can be below *bound*,
whose theorem and conversion are looser. *Claimed* is what a paper says of a mechanism
that does not have it. Time is that of all seeds of a row; what several rows share
(teachers) is counted in the first of them.

Rows on "shared votes" read the counts of 250 teachers from a file that is not part of this
project: `mnist_250_cnn.npz` or `adult_250_random_forest.npz`. The sections on teachers and on Adult
train such teachers themselves.
"""
