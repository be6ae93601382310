"""Transformers whose output is sparse counts: no frame can be asked of them."""

from typing import Any, Self

from sklearn.base import TransformerMixin

from discreet._base.validate import shown
from discreet.errors import Parameter, ParameterError

__all__ = ["SparseOutput"]


class SparseOutput(TransformerMixin):
    """Refuses frames where they are asked for, so that a pipeline is not left with a step that cannot run."""

    def set_output(self, *, transform: Any = None) -> Self:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Keep the output as it is: sparse counts, of which scikit-learn makes no frames.

        Parameters
        ----------
        transform : {"default"} or None, default None
            Both change nothing.

        Raises
        ------
        ParameterError
            Where a frame is asked for.
        """
        if transform not in (None, "default"):
            raise ParameterError(
                Parameter("transform"),
                f' must be "default" or None, but is {shown(transform)}: counts are sparse, and no frame holds them. '
                "In a pipeline, ask the last step alone: pipeline[-1].set_output(transform=...).",
            )
        return self
