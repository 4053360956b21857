/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_CLI_PLAN_SONIC_H
#define ADV_CLI_PLAN_SONIC_H

#include "cli/command/json.h"
#include "fabric/plan/dcb.h"

/*
 * Returns the tables of SONiC's config_db.json that make a switch behave like those of the
 * scenario: the maps of DSCPs, PFC, schedulers, WRED profiles with ECN, the PFC watchdog, and
 * profiles of lossless buffers. Sources: SONiC's wiki page Configuration, and qos.json.j2 of
 * sonic-buildimage. Names of ports are those of the switch, so PORT_QOS_MAP has the entry "global"
 * and one template, "Ethernet0". The caller owns the object.
 */
struct json_object *adv_planner_sonic(const struct adv_scenario *s, const struct adv_plan_dcb *d);

#endif
