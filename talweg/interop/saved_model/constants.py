"""The names of files, tags and signatures in saved models."""

from __future__ import annotations

from talweg.api.export import export_value

ASSETS_DIRECTORY = "assets"
ASSETS_KEY = "saved_model_assets"
CLASSIFY_METHOD_NAME = "tensorflow/serving/classify"
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
FINGERPRINT_FILENAME = "fingerprint.pb"
INIT_OP_SIGNATURE_KEY = "__saved_model_init_op"
LEGACY_INIT_OP_KEY = "legacy_init_op"
MAIN_OP_KEY = "saved_model_main_op"
PREDICT_METHOD_NAME = "tensorflow/serving/predict"
REGRESS_METHOD_NAME = "tensorflow/serving/regress"
SAVED_MODEL_FILENAME_PB = "saved_model.pb"
SAVED_MODEL_FILENAME_PBTXT = "saved_model.pbtxt"
SAVED_MODEL_SCHEMA_VERSION = 1
SERVING = "serve"
TRAINING = "train"
VARIABLES_DIRECTORY = "variables"
VARIABLES_FILENAME = "variables"

_PUBLIC = {  # name -> (value, the namespace of compat.v1 that has it, too)
    "ASSETS_DIRECTORY": (ASSETS_DIRECTORY, "constants"),
    "ASSETS_KEY": (ASSETS_KEY, "constants"),
    "CLASSIFY_INPUTS": ("inputs", "signature_constants"),
    "CLASSIFY_METHOD_NAME": (CLASSIFY_METHOD_NAME, "signature_constants"),
    "CLASSIFY_OUTPUT_CLASSES": ("classes", "signature_constants"),
    "CLASSIFY_OUTPUT_SCORES": ("scores", "signature_constants"),
    "DEBUG_DIRECTORY": ("debug", "constants"),
    "DEBUG_INFO_FILENAME_PB": ("saved_model_debug_info.pb", "constants"),
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY": (DEFAULT_SERVING_SIGNATURE_DEF_KEY, "signature_constants"),
    "GPU": ("gpu", "tag_constants"),
    "PREDICT_INPUTS": ("inputs", "signature_constants"),
    "PREDICT_METHOD_NAME": (PREDICT_METHOD_NAME, "signature_constants"),
    "PREDICT_OUTPUTS": ("outputs", "signature_constants"),
    "REGRESS_INPUTS": ("inputs", "signature_constants"),
    "REGRESS_METHOD_NAME": (REGRESS_METHOD_NAME, "signature_constants"),
    "REGRESS_OUTPUTS": ("outputs", "signature_constants"),
    "SAVED_MODEL_FILENAME_PB": (SAVED_MODEL_FILENAME_PB, "constants"),
    "SAVED_MODEL_FILENAME_PBTXT": (SAVED_MODEL_FILENAME_PBTXT, "constants"),
    "SAVED_MODEL_SCHEMA_VERSION": (SAVED_MODEL_SCHEMA_VERSION, "constants"),
    "SERVING": (SERVING, "tag_constants"),
    "TPU": ("tpu", "tag_constants"),
    "TRAINING": (TRAINING, "tag_constants"),
    "VARIABLES_DIRECTORY": (VARIABLES_DIRECTORY, "constants"),
    "VARIABLES_FILENAME": (VARIABLES_FILENAME, "constants"),
}

for _name, (_value, _namespace) in _PUBLIC.items():
    export_value(
        _value,
        f"saved_model.{_name}",
        f"compat.v1.saved_model.{_name}",
        f"compat.v1.saved_model.{_namespace}.{_name}",
    )
for _name, _value in (("LEGACY_INIT_OP_KEY", LEGACY_INIT_OP_KEY), ("MAIN_OP_KEY", MAIN_OP_KEY)):
    export_value(
        _value, f"compat.v1.saved_model.{_name}", f"compat.v1.saved_model.constants.{_name}"
    )
