"""No cache of byte code: the names that jinja2 exports."""


class BytecodeCache:
    """Not used."""


FileSystemBytecodeCache = MemcachedBytecodeCache = BytecodeCache
