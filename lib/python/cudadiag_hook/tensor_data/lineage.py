"""The value last written to each byte of a storage. Storages are not kept alive. A storage is identified by its
address, as long as a weak reference reserves that address."""
import sys


class StorageReference:
    """Reserves the address of a storage, without its memory."""

    __slots__ = ("kind", "pointer")

    def __init__(self, storage):
        self.kind = type(storage)
        self.pointer = storage._weak_ref()

    def has_ended(self):
        return self.kind._expired(self.pointer)

    def __del__(self):
        self.kind._free_weak_ref(self.pointer)


def bytes_of(tensor):
    """[begin, end) in its storage, from its first element to the end of its last."""
    size = tensor.element_size()
    begin = tensor.storage_offset() * size
    if tensor.is_contiguous():
        return begin, begin + tensor.numel() * size
    if not tensor.numel():
        return begin, begin
    return begin, begin + (1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))) * size


def has_storage(tensor):
    return tensor.layout is sys.modules["torch"].strided and not tensor.is_meta and not tensor.is_nested


class Writers:
    SWEPT_AT = 4096

    def __init__(self):
        self.storages = {}  # by address: (StorageReference, [(begin, end, value)])
        self.swept_at = self.SWEPT_AT

    def values_in(self, tensor):
        """The values of which the tensor contains bytes."""
        if not self.storages or not has_storage(tensor):
            return []
        entry = self.storages.get(tensor.untyped_storage()._cdata)
        if entry is None:
            return []
        first, last = bytes_of(tensor)
        return [value for begin, end, value in entry[1] if begin < last and first < end]

    def knows(self, tensor):
        return has_storage(tensor) and tensor.untyped_storage()._cdata in self.storages

    def write(self, tensor, value):
        """`value` None: the earlier contents are gone, and nothing is kept about the new ones."""
        if not has_storage(tensor) or (value is None and not self.storages):
            return
        storage = tensor.untyped_storage()
        entry = self.storages.get(storage._cdata)
        if entry is None:
            if value is None:
                return
            self.sweep()
            entry = self.storages[storage._cdata] = (StorageReference(storage), [])
        first, last = bytes_of(tensor)
        if last - first != tensor.numel() * tensor.element_size():  # with gaps, whose values stay
            if value is not None:
                entry[1].append((first, last, value))
            return
        kept = []
        for begin, end, other in entry[1]:
            if begin < first < end:
                kept.append((begin, first, other))
            if begin < last < end:
                kept.append((last, end, other))
            if end <= first or last <= begin:
                kept.append((begin, end, other))
        if value is not None:
            kept.append((first, last, value))
        if kept:
            entry[1][:] = kept
        else:
            del self.storages[storage._cdata]

    def limit(self, tensor, most, value):
        """If the tensor's storage has more than `most` pieces, all of it gets the value."""
        entry = self.storages.get(tensor.untyped_storage()._cdata)
        if entry is not None and len(entry[1]) > most:
            entry[1][:] = [(0, 1 << 62, value)]

    def sweep(self):
        if len(self.storages) < self.swept_at:
            return
        for key, (reference, values) in list(self.storages.items()):
            if reference.has_ended() or all(value.is_clean() for _, _, value in values):
                del self.storages[key]
        self.swept_at = max(self.SWEPT_AT, 2 * len(self.storages))
