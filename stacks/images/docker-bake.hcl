# All images of the project, for both architectures, with a list of their packages (SBOM). From the root:
#   npm run images:bake -- --push        one of them: … ingest
# To create a builder for several architectures: docker buildx create --use --bootstrap. A machine that is not arm64
# also needs emulation: docker run --privileged --rm tonistiigi/binfmt --install arm64
# All names and versions are in stacks/versions.env.

variable "TIDEGAUGE_REGISTRY" {}
variable "TIDEGAUGE_VERSION" {
  validation {
    condition     = TIDEGAUGE_VERSION != ""
    error_message = "read stacks/versions.env first: set -a; . stacks/versions.env; set +a"
  }
}
variable "NODE_IMAGE" {}
variable "PYTHON_IMAGE" {}
variable "MAVEN_IMAGE" {}
variable "JRE_IMAGE" {}
# The commit of the sources, for a label.
variable "REVISION" {
  default = "unknown"
}

group "default" {
  targets = ["services", "start", "sensors-sim", "hbase"]
}

group "services" {
  targets = ["ingest", "api", "broker-metrics", "citus-membership", "doctor", "backup"]
}

target "image" {
  context   = "."
  platforms = ["linux/arm64", "linux/amd64"]
}

target "service" {
  inherits   = ["image"]
  dockerfile = "stacks/images/tidegauge/Dockerfile"
  args = {
    BASE_IMAGE = NODE_IMAGE
    VERSION    = TIDEGAUGE_VERSION
    REVISION   = REVISION
  }
}

target "ingest" {
  inherits = ["service"]
  target   = "ingest"
  tags     = ["${TIDEGAUGE_REGISTRY}tidegauge-ingest:${TIDEGAUGE_VERSION}"]
}

target "api" {
  inherits = ["service"]
  target   = "api"
  tags     = ["${TIDEGAUGE_REGISTRY}tidegauge-api:${TIDEGAUGE_VERSION}"]
}

target "broker-metrics" {
  inherits = ["service"]
  target   = "broker-metrics"
  tags     = ["${TIDEGAUGE_REGISTRY}tidegauge-broker-metrics:${TIDEGAUGE_VERSION}"]
}

target "citus-membership" {
  inherits = ["service"]
  target   = "citus-membership"
  tags     = ["${TIDEGAUGE_REGISTRY}tidegauge-citus-membership:${TIDEGAUGE_VERSION}"]
}

target "backup" {
  inherits = ["service"]
  target   = "backup"
  tags     = ["${TIDEGAUGE_REGISTRY}tidegauge-backup:${TIDEGAUGE_VERSION}"]
}

target "doctor" {
  inherits = ["service"]
  target   = "doctor"
  tags     = ["${TIDEGAUGE_REGISTRY}tidegauge-doctor:${TIDEGAUGE_VERSION}"]
}

target "start" {
  inherits   = ["image"]
  dockerfile = "stacks/images/start/Dockerfile"
  args = {
    BASE_IMAGE = NODE_IMAGE
    VERSION    = TIDEGAUGE_VERSION
    REVISION   = REVISION
  }
  tags = ["${TIDEGAUGE_REGISTRY}tidegauge-start:${TIDEGAUGE_VERSION}"]
}

target "sensors-sim" {
  inherits   = ["image"]
  dockerfile = "stacks/images/sensors-sim/Dockerfile"
  args = {
    BASE_IMAGE = PYTHON_IMAGE
    VERSION    = TIDEGAUGE_VERSION
    REVISION   = REVISION
  }
  tags = ["${TIDEGAUGE_REGISTRY}tidegauge-sensors-sim:${TIDEGAUGE_VERSION}"]
}

target "hbase" {
  inherits = ["image"]
  context  = "stacks/images/hbase"
  args = {
    BUILD_IMAGE = MAVEN_IMAGE
    BASE_IMAGE  = JRE_IMAGE
  }
  tags = ["${TIDEGAUGE_REGISTRY}tidegauge-hbase:${TIDEGAUGE_VERSION}"]
}
