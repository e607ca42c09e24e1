"""The services of the process as a parameter of FastAPI's routes."""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request

if TYPE_CHECKING:
    from gateway.services import Services
else:
    Services = Any  # FastAPI reads annotations, and the composition is above this package


# `async`, though it waits for nothing: FastAPI calls other dependencies in a thread each.
async def of_request(request: Request) -> Services:
    """Return the services of the process that answers *request*."""
    services: Services = request.app.state.services
    return services


AppServices = Annotated[Services, Depends(of_request)]
