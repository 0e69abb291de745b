"""A session of the official Python SDK with a simulator: `sdk.py URL` or `sdk.py -- COMMAND...`; prints JSON.

Version 1 of the SDK shakes hands; version 2 asks what the server speaks and, over an address of an episode, keeps no
session.
"""

import asyncio
import importlib.metadata
import json
import sys

CALLS = [("get", {"id": "R1"}), ("set", {"id": "R1", "cabin": "biz"}), ("get", {"id": "R1"}), ("get", {"id": "R404"}),
         ("odd", {}), ("get", {"id": "never"})]


async def use(session, told):
    tools = (await session.list_tools()).tools
    told["tools"] = {tool.name: (tool.model_dump(by_alias=True)["inputSchema"]) for tool in tools}
    told["answers"] = []
    for name, arguments in CALLS:
        result = await session.call_tool(name, arguments)
        dump = result.model_dump(by_alias=True)
        told["answers"].append([result.content[0].text, dump["isError"], dump["_meta"]["fidelake/origin"]])
    try:
        await session.call_tool("no_such_tool", {})
        told["unknown"] = None
    except Exception as error:
        told["unknown"] = str(error)
    return told


async def version_1(place, command):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client

    if command:
        transport = stdio_client(StdioServerParameters(command=command[0], args=command[1:]))
    else:
        transport = streamablehttp_client(place)
    async with transport as streams, ClientSession(streams[0], streams[1]) as session:
        hello = await session.initialize()
        return await use(session, {"sdk": importlib.metadata.version("mcp"), "revision": hello.protocolVersion})


async def version_2(place, command):
    from mcp import Client, StdioServerParameters

    target = StdioServerParameters(command=command[0], args=command[1:]) if command else place
    async with Client(target) as client:
        return await use(client, {"sdk": importlib.metadata.version("mcp"), "revision": client.protocol_version})


command = sys.argv[2:] if sys.argv[1] == "--" else None
version = version_1 if importlib.metadata.version("mcp").startswith("1.") else version_2
print(json.dumps(asyncio.run(version(sys.argv[1], command))))
