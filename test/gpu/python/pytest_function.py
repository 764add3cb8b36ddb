"""A test function run by pytest, which rewrites its assertions."""
import sys

import pytest
import torch


@pytest.fixture
def table():
    return torch.randn(100, 8, device="cuda")


@pytest.mark.parametrize("row", [100])
def test_rows(table, row):
    idx = torch.tensor([0, row], device="cuda")
    assert table.index_select(0, idx).shape == (2, 8)  # TRUE LINE
    rows = table * 2
    assert rows.sum().item() == 0  # BLAMED


if __name__ == "__main__":
    sys.exit(pytest.main(["-qq", "--tb=no", "--show-capture=no", "-p", "no:cacheprovider", __file__]))
