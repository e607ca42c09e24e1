"""The services of the process as a parameter of FastAPI's routes."""

from typing import Annotated

from fastapi import Depends, Request

from gateway.services import Services


# `async`, though it waits for nothing: FastAPI calls other dependencies in a thread each.
async def of_request(request: Request) -> Services:
    """Return the services of the process that answers *request*."""
    services: Services = request.app.state.services
    return services


AppServices = Annotated[Services, Depends(of_request)]
