"""Keeps the value that was last written to each byte of a storage. A storage is identified by its address, which a weak
reference reserves without keeping the storage alive."""
import sys


class StorageReference:
    """Reserves the address of a storage object, without keeping the storage's memory alive."""

    __slots__ = ("kind", "pointer", "pieces")

    def __init__(self, storage):
        self.kind = type(storage)
        self.pointer = storage._weak_ref()
        self.pieces = ()  # used by Writers: (begin, end, value). Replaced as a whole, so any thread may read it

    def has_ended(self):
        return self.kind._expired(self.pointer)

    def __del__(self):
        self.kind._free_weak_ref(self.pointer)


def bytes_of(tensor):
    """Returns the tensor's range in its storage: (begin, end, whether there are gaps between its elements)."""
    size = tensor.element_size()
    begin = tensor.storage_offset() * size
    if tensor.is_contiguous():
        return begin, begin + tensor.numel() * size, False
    if not tensor.numel():
        return begin, begin, False
    elements = 1
    for n, s in zip(tensor.shape, tensor.stride()):
        elements += (n - 1) * s
    return begin, begin + elements * size, elements != tensor.numel()


def has_storage(tensor):
    """Returns false also for the zeros of forward-mode AD, which have no memory."""
    return tensor.layout is sys.modules["torch"].strided and not tensor.is_meta and not tensor.is_nested and \
        not tensor._is_zerotensor()


class Writers:
    SWEPT_AT = 4096
    MOST_PIECES = 256  # each operator looks at all pieces of its tensors' storages

    def __init__(self, merged=None):
        self.storages = {}  # by address: StorageReference
        self.merged = merged  # returns fewer pieces for a storage with more than MOST_PIECES
        self.swept_at = self.SWEPT_AT

    def values_in(self, tensor):
        """Returns the values that were last written to the tensor's bytes."""
        if not self.storages or not has_storage(tensor):
            return ()
        storage = self.storages.get(tensor.untyped_storage()._cdata)
        if storage is None:
            return ()
        pieces = storage.pieces
        if len(pieces) == 1:
            (begin, end, value), = pieces
            if begin <= tensor.storage_offset() * tensor.element_size() < end:
                return (value,) if tensor.numel() else ()
        first, last, _ = bytes_of(tensor)
        return [value for begin, end, value in pieces if begin < last and first < end]

    def knows(self, tensor):
        return has_storage(tensor) and tensor.untyped_storage()._cdata in self.storages

    def write(self, tensor, value):
        """Notes that `value` was written to the tensor's bytes. If `value` is None, only forgets their earlier
        contents. Returns the storage's address; None if nothing was known about the storage and nothing is kept."""
        if not has_storage(tensor) or (value is None and not self.storages):
            return None
        storage = tensor.untyped_storage()
        address = storage._cdata
        known = self.storages.get(address)
        if known is None:
            if value is None:
                return None
            if len(self.storages) >= self.swept_at:
                self.sweep()
            known = self.storages[address] = StorageReference(storage)
        first, last, has_gaps = bytes_of(tensor)
        if has_gaps:  # the values in the gaps stay
            if value is not None:
                self.keep(known, (*known.pieces, (first, last, value)))
            return address
        kept = outside(known.pieces, first, last) if known.pieces else ()
        if value is not None:
            self.keep(known, (*kept, (first, last, value)))
        elif kept:
            known.pieces = tuple(kept)
        else:
            del self.storages[address]
        return address

    def keep(self, known, pieces):
        too_many = len(pieces) > self.MOST_PIECES and self.merged is not None
        known.pieces = self.merged(pieces) if too_many else pieces

    def copy(self, source, target):
        """Notes that the storage `target` is a copy of the storage `source`."""
        known = self.storages.get(source._cdata)
        if known is not None:
            copied = self.storages[target._cdata] = StorageReference(target)
            copied.pieces = known.pieces

    def limit(self, tensor, most, value):
        """If the tensor's storage has more than `most` pieces, replaces them by one piece with `value`."""
        known = self.storages.get(tensor.untyped_storage()._cdata)
        if known is not None and len(known.pieces) > most:
            known.pieces = ((0, 1 << 62, value),)

    def forget(self, address, value):
        """Forgets the storage at the address if this value is its only piece."""
        known = self.storages.get(address)
        if known is not None and len(known.pieces) == 1 and known.pieces[0][2] is value:
            del self.storages[address]

    def forget_all(self, tensor):
        """Forgets the whole storage of the tensor."""
        if has_storage(tensor):
            self.storages.pop(tensor.untyped_storage()._cdata, None)

    def sweep(self):
        for address, known in list(self.storages.items()):
            if known.has_ended() or all(value.is_clean() for _, _, value in known.pieces):
                del self.storages[address]
        self.swept_at = max(self.SWEPT_AT, 2 * len(self.storages))


def outside(pieces, first, last):
    """Returns the parts of the pieces that are left if the bytes from `first` to `last` are overwritten."""
    left = []
    for begin, end, value in pieces:
        if begin < first < end:
            left.append((begin, first, value))
        if begin < last < end:
            left.append((last, end, value))
        if end <= first or last <= begin:
            left.append((begin, end, value))
    return left
