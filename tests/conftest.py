"""What holds for all tests: no example of Hypothesis has a time limit, as the machines are shared and noisy."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
