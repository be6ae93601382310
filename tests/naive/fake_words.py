"""Streams that are not random, for tests of what the samplers do with words that random words never are."""

import numpy as np

from discreet.privacy.noise.stream import SecureStream, WordBlocks


class FakeBlocks(WordBlocks):
    """Lane 0 repeats a pattern; further digits repeat another, or stay those of ChaCha20."""

    def __init__(self, key, pattern, extension=None):
        super().__init__(key)
        self.pattern, self.extension = np.array(pattern, dtype=np.uint32), extension

    def read(self, block, lane, start, n):
        if lane == 0:
            return self.pattern[np.arange(start, start + n) % len(self.pattern)]
        if self.extension is not None:
            return np.full(n, self.extension, dtype=np.uint32)
        return super().read(block, lane, start, n)


class FakeStream(SecureStream):
    def __init__(self, pattern, extension=None, seed=1):
        super().__init__(seed)
        self.pattern, self.extension = pattern, extension

    def blocks(self, purpose):
        return FakeBlocks(self.words(4).tobytes(), self.pattern, self.extension)
