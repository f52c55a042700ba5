"""What Python itself puts into classes, nowhere else: its versions differ in it."""

__all__ = ["PUT_INTO_CLASSES"]

#: What Python and `abc` put into the body of a class.
PUT_INTO_CLASSES = frozenset(
    {
        "__abstractmethods__",
        "__annotate_func__",
        "__annotations__",
        "__annotations_cache__",
        "__classcell__",
        "__dict__",
        "__doc__",
        "__firstlineno__",
        "__module__",
        "__orig_bases__",
        "__parameters__",
        "__qualname__",
        "__static_attributes__",
        "__type_params__",
        "__weakref__",
        "_abc_impl",
    }
)
