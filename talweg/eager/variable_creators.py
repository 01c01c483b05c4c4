"""`tf.variable_creator_scope`: functions that make variables, in place of their classes."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from talweg.core import dispatch
from talweg.core.hooks import hooks
from talweg.core.tracebacks import pass_out


class ThroughCreators(type):
    """The class of variables' classes: making one goes through `tf.variable_creator_scope`."""

    if not TYPE_CHECKING:  # type checkers see a class like any other

        def __call__(cls, *args: object, **kwargs: object) -> Any:
            try:
                return cls.make_through_creators(*args, **kwargs)
            except Exception as error:
                pass_out(error)
                raise

        def make_through_creators(cls, *args: object, **kwargs: object) -> Any:
            """Return a variable, from the creators if there are any."""
            creators = dispatch.context.creators
            if not creators or "through_creators" not in cls.__dict__:
                return super().__call__(*args, **kwargs)
            base = dispatch.context.base
            general = base is not None and cls.__dict__["through_creators"] is True
            kind = hooks.variable_class(base) if general else cls
            bound = inspect.signature(kind.__init__).bind(None, *args, **kwargs)
            bound.apply_defaults()
            given = dict(list(bound.arguments.items())[1:])

            def make(**arguments: object) -> Any:
                outside, dispatch.context.creators = dispatch.context.creators, ()
                try:
                    return cls(**arguments)
                finally:
                    dispatch.context.creators = outside

            for creator in reversed(creators):
                make = functools.partial(creator, make)
            return make(**given)
