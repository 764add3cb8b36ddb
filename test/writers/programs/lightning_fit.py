"""PyTorch Lightning's fit writes CSV logs and a checkpoint for every step, into a new version_N folder for each run."""
import logging
import warnings

import gpu
import torch

try:
    import lightning.pytorch as lightning
except ImportError:
    import pytorch_lightning as lightning

warnings.filterwarnings("ignore")
logging.getLogger(lightning.__name__).setLevel(logging.ERROR)


class Regression(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, index):
        gpu.launch(*gpu.batch(index))  # TRUE LINE
        gpu.wait()
        loss = self.layer(batch[0]).square().mean()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(32, 4)), batch_size=4)
trainer = lightning.Trainer(
    max_epochs=1, accelerator="cpu", devices=1, log_every_n_steps=1, logger=lightning.loggers.CSVLogger("logs"),
    callbacks=[lightning.callbacks.ModelCheckpoint(every_n_train_steps=1, save_top_k=-1)],
    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Regression(), data)
