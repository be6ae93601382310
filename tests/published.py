"""Figures that the papers print; pages are held to them by test_figures.py and test_tables.py."""

#: Wang, Tong, Shi: without federation, at epsilon 7.5 and at 5.
POSTER = {
    ("spam", "precision"): (0.868, 0.781, 0.736),
    ("spam", "recall"): (0.708, 0.767, 0.760),
    ("spam", "F1"): (0.780, 0.774, 0.748),
    ("spam", "AUC"): (0.798, 0.771, 0.738),
    ("sentiment", "precision"): (0.777, 0.774, 0.761),
    ("sentiment", "recall"): (0.814, 0.776, 0.766),
    ("sentiment", "F1"): (0.795, 0.775, 0.764),
    ("sentiment", "AUC"): (0.794, 0.778, 0.767),
}
#: Manzonelli, Zhang, Vadhan, table 1: found at one false alarm in a thousand, %: LiRA, max, std, entropy.
FOUR_ATTACKS = {
    "tweetrumors": (12.8, 0.19, 0.19, 0.18),
    "20newsgroups": (21.1, 0.57, 0.57, 0.53),
    "nips": (44.9, 1.69, 1.69, 1.31),
}
#: Their table 2, nips by topics: online, offline.
BY_TOPICS = {5: (31.8, 31.8), 10: (44.9, 43.6), 15: (60.5, 56.0), 20: (67.9, 63.2), 25: (72.5, 70.2)}
#: Their appendix, TweetRumors by shadows: online, offline.
BY_SHADOWS = {
    4: (1.39, 1.25),
    8: (4.58, 4.83),
    16: (9.17, 9.67),
    32: (11.7, 11.2),
    64: (12.8, 11.5),
    128: (13.2, 12.9),
    256: (13.3, 12.8),
    512: (14.8, 13.4),
}
#: Zhao et al., table II: tokens of kos, nips, Enron.
TOKENS = (209_169, 410_753, 356_363)
#: Park et al.: epsilon of their settings.
EPSILON = 2.44
