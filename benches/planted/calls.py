#!/usr/bin/env python3
"""Trajectories for planted_patterns.py: `python calls.py airline 70 SEED` with the Python of adapters/tau2_domain.py.

Every trajectory makes each tool once, with arguments from the database, and reads an entry, changes it and reads it again.
Every second one gives `calculate` a parameter that it does not declare.
"""

import json
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "adapters"))
import tau2_import


def airline(db, chance):
    users = sorted(db.users)
    flights = sorted(db.flights)
    card = lambda user: sorted(p for p in user.payment_methods if not p.startswith("certificate"))
    own = [u for u in users if len(db.users[u].reservations) >= 2 and card(db.users[u])]
    user = db.users[chance.choice(own)]
    first, second = (db.reservations[r] for r in chance.sample(list(user.reservations), 2))
    number = chance.choice(flights)
    flight = db.flights[number]
    dates = sorted(flight.dates)
    route = {"origin": flight.origin, "destination": flight.destination, "date": chance.choice(dates)}
    yield "get_user_details", {"user_id": user.user_id}
    yield "search_direct_flight", route
    yield "search_onestop_flight", route
    yield "get_flight_status", {"flight_number": number, "date": chance.choice(dates)}
    yield "list_all_airports", {}
    yield "update_reservation_baggages", {
        "reservation_id": second.reservation_id,
        "total_baggages": second.total_baggages,
        "nonfree_baggages": second.nonfree_baggages,
        "payment_id": card(user)[0],
    }
    read = {"reservation_id": first.reservation_id}
    yield "get_reservation_details", read
    yield "cancel_reservation", read
    yield "get_reservation_details", read


def retail(db, chance):
    pending = sorted(o for o in db.orders if db.orders[o].status == "pending")
    order = db.orders[chance.choice(pending)]
    user = db.users[chance.choice(sorted(db.users))]
    yield "find_user_id_by_email", {"email": user.email}
    yield "find_user_id_by_name_zip", {
        "first_name": user.name.first_name,
        "last_name": user.name.last_name,
        "zip": user.address.zip,
    }
    yield "get_product_details", {"product_id": chance.choice(sorted(db.products))}
    yield "get_user_details", {"user_id": user.user_id}
    yield "list_all_product_types", {}
    read = {"order_id": order.order_id}
    yield "get_order_details", read
    yield "cancel_pending_order", read | {"reason": "no longer needed"}
    yield "get_order_details", read


def main():
    domain, count, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    db = tau2_import.domain(domain).get_environment().tools.db
    make = {"airline": airline, "retail": retail}[domain]
    for number in range(count):
        chance = random.Random(f"{domain} {seed} {number}")
        calls = list(make(db, chance))
        extra = {"precision": 3} if number % 2 else {}
        a, b = chance.randint(2, 99), chance.randint(2, 99)
        calls.insert(chance.randint(0, 5), ("calculate", {"expression": f"{a} * {b}"} | extra))
        calls = [{"turn": turn, "name": name, "arguments": given} for turn, (name, given) in enumerate(calls)]
        run = {"fidelake": 1, "trajectory_id": f"{domain}/{number}", "environment": domain, "arm": "sim", "calls": calls}
        print(json.dumps(run))


main()
