resource "azurerm_scheduler_job" "old" {
  name                = "old"
  resource_group_name = "rg"
  job_collection_name = "${azurerm_scheduler_job_collection.jc.name}"

  action_web {
    url    = "https://service.example.com/${lower("OLD")}"
    method = "Post"

    headers {
      "Content-Type" = "text/plain"
    }
  }

  recurrence {
    frequency = "Week"
    week_days = ["Monday"]
    hours     = ["8"]
    minutes   = ["0"]
  }

  start_time = "${timeadd("2020-01-01T00:00:00Z", "1h")}"
}

resource "azurerm_scheduler_job_collection" "jc" {
  name                = "jc11"
  location            = "westeurope"
  resource_group_name = "rg"
  sku                 = "Free"
}

resource "azurerm_scheduler_job" "broken" {
  name                = "broken"
  resource_group_name = "rg"
  job_collection_name = "jc11"
  action_web {
    url    = "https://service.example.com/"
    method = "get"
    headers = { "X-A" = ${var.a} }
  }
}
