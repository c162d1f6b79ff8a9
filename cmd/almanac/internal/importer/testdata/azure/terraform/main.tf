variable "prefix" { default = "tfex" }
variable "password" {}
variable "location" {
  default = "westeurope"
}

locals {
  host   = "https://${var.prefix}.example.com"
  minutes = [0, 15, 30, 45]
}

resource "azurerm_resource_group" "example" {
  name     = "${var.prefix}-resources"
  location = "${var.location}"
}

resource "azurerm_scheduler_job_collection" "example" {
  name                = "${var.prefix}-jobs"
  location            = azurerm_resource_group.example.location
  resource_group_name = azurerm_resource_group.example.name
  sku                 = "standard"
  state               = "enabled"

  quota {
    max_job_count            = 5
    max_recurrence_interval  = 5
    max_recurrence_frequency = "minute"
  }
}

# runs once, now
resource "azurerm_scheduler_job" "once_now" {
  name                = "${var.prefix}-once-now"
  resource_group_name = azurerm_resource_group.example.name
  job_collection_name = azurerm_scheduler_job_collection.example.name
  state               = "enabled"

  action_web {
    url = "http://this.url.fails"
  }
}

resource "azurerm_scheduler_job" "daily" {
  name                = "daily"
  resource_group_name = azurerm_resource_group.example.name
  job_collection_name = azurerm_scheduler_job_collection.example.name

  action_web {
    url    = "${local.host}/daily"
    method = "put"
    body   = file("body.json")
    headers = {
      Content-Type = "application/json"
    }
    authentication_basic {
      username = "login"
      password = var.password
    }
  }

  error_action_storage_queue {
    storage_account_name = azurerm_storage_account.example.name
    storage_queue_name   = "failures"
    sas_token            = azurerm_storage_account.example.primary_access_key
    message              = base64encode("failed")
  }

  retry {
    interval = "00:05:00"
    count    = 10
  }

  recurrence {
    frequency = "day"
    count     = 1000
    hours     = [0, 12]
    minutes   = local.minutes
  }

  start_time = "2018-07-07T07:07:07-07:00"
}

resource "azurerm_storage_account" "example" {
  name     = "tfexstorageaccount"
  location = var.location
}

resource "azurerm_scheduler_job" "monthly" {
  name                = "monthly"
  resource_group_name = azurerm_resource_group.example.name
  job_collection_name = azurerm_scheduler_job_collection.example.name

  action_storage_queue = {
    storage_account_name = "tfexstorageaccount"
    storage_queue_name   = "ticks"
    sas_token            = "?sv=2017-07-29&ss=q&sp=a&sig=CANARYc2ln%3D"
    message              = "tick"
  }

  recurrence {
    frequency = "Month"
    monthly_occurrences = [
      { day = "Sunday", occurrence = 1 },
      { day = "Sunday", occurrence = -1 },
    ]
  }

  start_time = "2018-07-07T07:07:07Z"
}

resource "azurerm_scheduler_job" "no_start" {
  name                = "no-start"
  resource_group_name = azurerm_resource_group.example.name
  job_collection_name = azurerm_scheduler_job_collection.example.name
  action_web { 
    url = "https://service.example.com/quarter?started=${timestamp()}" 
    method = "get"
  }
  recurrence {
    frequency = "Minute"
    interval  = 15
  }
}

resource "azurerm_scheduler_job" "counted" {
  count               = 2
  name                = "counted-${count.index}"
  resource_group_name = azurerm_resource_group.example.name
  job_collection_name = azurerm_scheduler_job_collection.example.name
  action_web {
    url    = "https://service.example.com/${count.index}"
    method = "get"
  }
  recurrence {
    frequency = "Week"
    week_days = ["Monday", "Thursday"]
    hours     = [8]
    minutes   = [0]
  }
}

resource "azurerm_scheduler_job" "two" {
  name                = "two"
  resource_group_name = azurerm_resource_group.example.name
  job_collection_name = azurerm_scheduler_job_collection.example.name
  action {
    request {
      uri    = "https://service.example.com/"
      method = "DELETE"
    }
  }
  recurrence {
    frequency  = "Hour"
    interval   = 12
    start_time = "23:00"
  }
  recurrence {
    frequency  = "Hour"
    interval   = 12
    start_time = "08:00"
  }
}

resource "azurerm_scheduler_job" "escape" {
  name                = "escape"
  resource_group_name = azurerm_resource_group.example.name
  job_collection_name = azurerm_scheduler_job_collection.example.name
  action_web {
    url    = "https://service.example.com/escape"
    method = "post"
    body   = file("/etc/hostname")
    headers = { X-File = file("../../README.md") }
  }
  start_time = "2027-01-01T00:00:00Z"
}
