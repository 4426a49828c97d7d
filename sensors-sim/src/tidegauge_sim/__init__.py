"""Simulated sensors that publish realistic readings over MQTT, deterministic for a seed."""

__version__ = '0.2.0'
