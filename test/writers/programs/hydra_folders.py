"""Hydra makes a folder by date and time, writes .hydra/*.yaml and a log there, and changes into it."""
import logging

import gpu
import hydra
from omegaconf import DictConfig, OmegaConf

log = logging.getLogger(__name__)


@hydra.main(version_base=None, config_path=None)
def train(config: DictConfig):
    log.info("config: %s", OmegaConf.to_yaml(config))
    with open("metrics.txt", "w") as file:
        print("step loss", file=file)
    gpu.launch(*gpu.batch(3))  # TRUE LINE
    gpu.wait()


train()
