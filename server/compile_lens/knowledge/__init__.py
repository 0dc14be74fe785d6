"""Tables about torch, torch_npu and Python that the interpreter and the rules ask; imports nothing of ours."""
