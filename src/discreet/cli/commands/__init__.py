"""The sub-commands of `discreet`, one file each."""
