"""PyTorch Lightning: a label that is not a class, in the fifth batch of training, or in validation: fit | validate"""
import logging
import sys
import warnings

import lightning
import torch

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
which = sys.argv[1]


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 7))

    def training_step(self, batch, index):
        x, labels = batch
        return torch.nn.functional.cross_entropy(self.layers(x), labels)  # TRUE LINE fit

    def validation_step(self, batch, index):
        x, labels = batch
        loss = torch.nn.functional.cross_entropy(self.layers(x), labels)  # TRUE LINE validate
        self.log("loss", loss)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


def batches(bad):
    labels = torch.randint(0, 7, (64,))
    if bad:
        labels[35] = 7
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 16), labels), batch_size=8)


trainer = lightning.Trainer(max_epochs=1, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0)
trainer.fit(Classifier(), batches(which == "fit"), batches(which == "validate"))
