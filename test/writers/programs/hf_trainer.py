"""Transformers' Trainer writes a checkpoint for every step, keeps the last two, and resumes from none."""
import os

os.environ["HF_HUB_OFFLINE"] = "1"
import gpu  # noqa: E402
import torch  # noqa: E402
from transformers import PretrainedConfig, PreTrainedModel, Trainer, TrainingArguments  # noqa: E402


class Line(PreTrainedModel):
    config_class = PretrainedConfig

    def __init__(self, config):
        super().__init__(config)
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, x, labels):
        step = trainer.state.global_step
        gpu.launch(*gpu.batch(step))  # TRUE LINE
        gpu.wait()
        return {"loss": (self.layer(x).squeeze(1) - labels).square().mean()}


rows = [{"x": torch.randn(4), "labels": torch.tensor(1.0)} for _ in range(32)]
settings = TrainingArguments("output", use_cpu=True, max_steps=6, per_device_train_batch_size=4, save_steps=1,
                             save_total_limit=2, logging_steps=1, report_to=[], disable_tqdm=True)
trainer = Trainer(model=Line(PretrainedConfig()), args=settings, train_dataset=rows)
trainer.train()
