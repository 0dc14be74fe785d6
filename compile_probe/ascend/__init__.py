"""Ascend as it is installed: what the files of torch_npu and CANN say, read without importing or running either."""
