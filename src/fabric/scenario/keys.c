/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "fabric/network/calendar.h"
#include "fabric/scenario/keys.h"

static const char *const topologies[] = {"pair",      "incast",	    "dumbbell", "parking-lot",
					 "ring",      "leaf-spine", "fat-tree", "rails",
					 "dragonfly", "links",	    NULL};
static const char *const routings[] = {"shortest", "up-down", "one-way", NULL};
static const char *const answers[] = {"no", "yes", NULL};
static const char *const actions[] = {"drop", "forward", NULL};
/* In the order of enum adv_cc_algorithm. */
static const char *const controls[] = {"dcqcn", "none", "dctcp", "timely", "swift", "hpcc", NULL};
/* In the order of enum adv_scenario_retransmission and enum adv_balance. */
static const char *const retransmissions[] = {"go-back-n", "go-back-0", "selective", NULL};
static const char *const balances[] = {"ecmp", "spray", "adaptive", NULL};
static const char *const parameter_sets[] = {"line-rate", "paper", "mlx5", NULL};
static const char *const operations[] = {"write", "send", "read", NULL};
static const char *const patterns[] = {"plain",	   "allreduce", "allgather", "reduce-scatter",
				       "alltoall", "pipeline",	NULL};
static const char *const algorithms[] = {"ring", "tree", "halving-doubling", "hierarchical", NULL};
static const char *const size_kinds[] = {"fixed",  "exponential", "websearch",
					 "hadoop", "storage",	  NULL};
static const char *const arrival_kinds[] = {"even", "poisson", NULL};
static const char *const host_words[] = {"all", "permutation", "next", "random", NULL};

#define OF(type, member) offsetof(struct adv_scenario_##type, member)
#define QUANTITY(type, member, name, unit, least, most)                                            \
	{                                                                                          \
		name, ADV_KEY_QUANTITY, ADV_UNIT_##unit, OF(type, member), least, most, NULL       \
	}
#define WORD(type, member, name, words)                                                            \
	{                                                                                          \
		name, ADV_KEY_WORD, 0, OF(type, member), 0, 0, words                               \
	}
#define HOSTS(type, member, name, words)                                                           \
	{                                                                                          \
		name, ADV_KEY_HOSTS, 0, OF(type, member), 0, 0, words                              \
	}
#define NODE(type, member, name)                                                                   \
	{                                                                                          \
		name, ADV_KEY_NODE, 0, OF(type, member), 0, 0, NULL                                \
	}
#define END                                                                                        \
	{                                                                                          \
		NULL, 0, 0, 0, 0, 0, NULL                                                          \
	}

#define SPEED_MIN 1000000ull
#define SPEED_MAX 8000000000000ull
#define CABLE_MAX 1000000000ull /* 1,000 km */
#define TIME_MAX  (1000000 * ADV_PS_PER_S)
/* Units of the parameters of congestion control. */
#define US	ADV_PS_PER_US
#define MBPS	UINT64_C(1000000)
#define PERCENT (ADV_RATIO_ONE / 100)

static const struct adv_scenario_key network_keys[] = {
	WORD(network, topology, "topology", topologies),
	QUANTITY(network, senders, "senders", COUNT, 1, 255),
	QUANTITY(network, hosts, "hosts", COUNT, 1, 1 << 16),
	QUANTITY(network, switches, "switches", COUNT, 1, 1 << 12),
	QUANTITY(network, leaves, "leaves", COUNT, 1, 256),
	QUANTITY(network, spines, "spines", COUNT, 1, 256),
	QUANTITY(network, ports, "ports", COUNT, 2, 64),
	QUANTITY(network, speed, "speed", RATE, SPEED_MIN, SPEED_MAX),
	QUANTITY(network, cable, "cable", LENGTH, 0, CABLE_MAX),
	QUANTITY(network, trunk_speed, "trunk-speed", RATE, SPEED_MIN, SPEED_MAX),
	QUANTITY(network, trunk_cable, "trunk-cable", LENGTH, 0, CABLE_MAX),
	QUANTITY(network, rails, "rails", COUNT, 1, 256),
	QUANTITY(network, pods, "pods", COUNT, 1, 256),
	QUANTITY(network, routers, "routers", COUNT, 1, 256),
	QUANTITY(network, globals, "globals", COUNT, 1, 255),
	QUANTITY(network, global_speed, "global-speed", RATE, SPEED_MIN, SPEED_MAX),
	QUANTITY(network, global_cable, "global-cable", LENGTH, 0, CABLE_MAX),
	WORD(network, routes, "routes", routings),
	QUANTITY(network, reroute, "reroute-delay", TIME, 0, TIME_MAX),
	END,
};

static const struct adv_scenario_key switch_keys[] = {
	QUANTITY(switch, buffer, "buffer", BYTES, 1, UINT32_MAX),
	QUANTITY(switch, pause_quanta, "pause-quanta", COUNT, 1, ADV_QUANTA_MAX),
	QUANTITY(switch, pause_response, "pause-response", TIME, 0, ADV_PS_PER_S),
	QUANTITY(switch, watchdog_poll, "watchdog-poll", TIME, 0, TIME_MAX),
	QUANTITY(switch, watchdog_detect, "watchdog-detect", TIME, 0, TIME_MAX),
	QUANTITY(switch, watchdog_restore, "watchdog-restore", TIME, 0, TIME_MAX),
	WORD(switch, watchdog_forward, "watchdog-action", actions),
	WORD(switch, balance, "load-balancing", balances),
	END,
};

static const struct adv_scenario_key priority_keys[] = {
	WORD(priority, lossless, "lossless", answers),
	QUANTITY(priority, weight, "weight", COUNT, 0, 100),
	QUANTITY(priority, reserved, "reserved", BYTES, 0, 1u << 30),
	QUANTITY(priority, headroom, "headroom", BYTES, 0, 1u << 30),
	QUANTITY(priority, xoff, "xoff", BYTES, 0, 1u << 30),
	QUANTITY(priority, xon_offset, "xon-offset", BYTES, 0, 1u << 30),
	QUANTITY(priority, alpha, "alpha", RATIO, 0, 1024 * ADV_RATIO_ONE),
	QUANTITY(priority, ecn_min, "ecn-min", BYTES, 0, 1u << 30),
	QUANTITY(priority, ecn_max, "ecn-max", BYTES, 0, 1u << 30),
	QUANTITY(priority, ecn_probability, "ecn-probability", RATIO, 0, ADV_RATIO_ONE),
	END,
};

static const struct adv_scenario_key host_keys[] = {
	QUANTITY(host, mtu, "mtu", BYTES, 256, 4096),
	QUANTITY(host, window, "window", COUNT, 1, 1 << 20),
	WORD(host, control, "congestion-control", controls),
	WORD(host, bdp_window, "bdp-window", answers),
	WORD(host, retransmission, "retransmission", retransmissions),
	QUANTITY(host, reorder, "reorder", COUNT, 0, 1 << 20),
	QUANTITY(host, rto_low, "rto-low", TIME, 1 * US, ADV_PS_PER_S),
	QUANTITY(host, rto_high, "rto-high", TIME, 1 * US, ADV_PS_PER_S),
	WORD(host, loss_window, "loss-window", answers),
	QUANTITY(host, ack_priority, "ack-priority", COUNT, 0, ADV_PRIORITIES - 1),
	WORD(host, dcqcn, "dcqcn-parameters", parameter_sets),
	QUANTITY(host, cc[0], "clamp_tgt_rate", COUNT, 0, 1),
	QUANTITY(host, cc[1], "clamp_tgt_rate_after_time_inc", COUNT, 0, 1),
	QUANTITY(host, cc[2], "rpg_time_reset", TIME, 1 * US, 10000000 * US),
	QUANTITY(host, cc[3], "rpg_byte_reset", BYTES, 0, INT32_MAX),
	QUANTITY(host, cc[4], "rpg_threshold", COUNT, 1, 31),
	QUANTITY(host, cc[5], "rpg_max_rate", RATE, 0, 1000000 * MBPS),
	QUANTITY(host, cc[6], "rpg_ai_rate", RATE, 1 * MBPS, 1000000 * MBPS),
	QUANTITY(host, cc[7], "rpg_hai_rate", RATE, 1 * MBPS, 1000000 * MBPS),
	QUANTITY(host, cc[8], "rpg_gd", COUNT, 10, 15),
	QUANTITY(host, cc[9], "rpg_min_dec_fac", RATIO, 1 * PERCENT, 100 * PERCENT),
	QUANTITY(host, cc[10], "rpg_min_rate", RATE, 1 * MBPS, 1000000 * MBPS),
	QUANTITY(host, cc[11], "rate_to_set_on_first_cnp", RATE, 0, 1000000 * MBPS),
	QUANTITY(host, cc[12], "dce_tcp_g", COUNT, 0, 1023),
	QUANTITY(host, cc[13], "dce_tcp_rtt", TIME, 1 * US, 10000000 * US),
	QUANTITY(host, cc[14], "rate_reduce_monitor_period", TIME, 0, 10000000 * US),
	QUANTITY(host, cc[15], "initial_alpha_value", COUNT, 1, 1024),
	QUANTITY(host, cc[16], "min_time_between_cnps", TIME, 0, 10000000 * US),
	QUANTITY(host, cc[17], "cnp_dscp", COUNT, 0, 63),
	QUANTITY(host, cc[18], "cnp_802p_prio", COUNT, 0, 7),
	QUANTITY(host, cc[19], "dctcp_g", COUNT, 1, 1024),
	QUANTITY(host, cc[20], "timely_t_low", TIME, 0, 100000 * US),
	QUANTITY(host, cc[21], "timely_t_high", TIME, 1 * US, 100000 * US),
	QUANTITY(host, cc[22], "timely_min_rtt", TIME, 1 * US, 100000 * US),
	QUANTITY(host, cc[23], "timely_ai_rate", RATE, 1 * MBPS, 1000000 * MBPS),
	QUANTITY(host, cc[24], "timely_alpha", COUNT, 1, 1024),
	QUANTITY(host, cc[25], "timely_beta", COUNT, 1, 1024),
	QUANTITY(host, cc[26], "timely_min_rate", RATE, 1 * MBPS, 1000000 * MBPS),
	QUANTITY(host, cc[27], "swift_target", TIME, 1 * US, 100000 * US),
	QUANTITY(host, cc[28], "swift_ai", COUNT, 1, 65536),
	QUANTITY(host, cc[29], "swift_beta", COUNT, 1, 1024),
	QUANTITY(host, cc[30], "swift_max_mdf", COUNT, 1, 1023),
	QUANTITY(host, cc[31], "swift_fs_range", TIME, 0, 100000 * US),
	QUANTITY(host, cc[32], "swift_fs_min", COUNT, 1, 1024),
	QUANTITY(host, cc[33], "swift_fs_max", COUNT, 1024, 1 << 20),
	QUANTITY(host, cc[34], "swift_min_window", COUNT, 1, 1024),
	QUANTITY(host, cc[35], "hpcc_base_rtt", TIME, 1 * US, 100000 * US),
	QUANTITY(host, cc[36], "hpcc_eta", RATIO, 1 * PERCENT, 100 * PERCENT),
	QUANTITY(host, cc[37], "hpcc_max_stage", COUNT, 0, 100),
	QUANTITY(host, cc[38], "hpcc_ai", BYTES, 1, 1000000),
	END,
};

static const struct adv_scenario_key run_keys[] = {
	QUANTITY(run, duration, "duration", TIME, 1, TIME_MAX),
	QUANTITY(run, seed, "seed", COUNT, 0, ADV_QUANTITY_MAX),
	QUANTITY(run, deadlock_check, "deadlock-check", TIME, 0, TIME_MAX),
	WORD(run, stop_at_deadlock, "stop-at-deadlock", answers),
	QUANTITY(run, sample, "sample", TIME, 0, TIME_MAX),
	END,
};

static const struct adv_scenario_key flow_keys[] = {
	WORD(flow, pattern, "pattern", patterns),
	WORD(flow, algorithm, "algorithm", algorithms),
	QUANTITY(flow, group, "group", COUNT, 2, 1 << 16),
	QUANTITY(flow, pieces, "pieces", COUNT, 1, 1000000),
	QUANTITY(flow, compute, "compute", TIME, 0, TIME_MAX),
	QUANTITY(flow, reduce, "reduce", TIME, 0, TIME_MAX),
	QUANTITY(flow, load, "load", RATIO, ADV_RATIO_ONE / 1000000, ADV_RATIO_ONE),
	HOSTS(flow, from, "from", host_words),
	HOSTS(flow, to, "to", host_words),
	WORD(flow, operation, "operation", operations),
	QUANTITY(flow, bytes, "bytes", BYTES, 1, ADV_QUANTITY_MAX),
	WORD(flow, endless, "endless", answers),
	WORD(flow, sizes, "sizes", size_kinds),
	QUANTITY(flow, start, "start", TIME, 0, TIME_MAX),
	QUANTITY(flow, count, "count", COUNT, 1, 1000000),
	QUANTITY(flow, interval, "interval", TIME, 0, TIME_MAX),
	WORD(flow, arrivals, "arrivals", arrival_kinds),
	QUANTITY(flow, dscp, "dscp", COUNT, 0, 63),
	QUANTITY(flow, message, "message", BYTES, 1, ADV_FABRIC_MESSAGE_MAX),
	QUANTITY(flow, depth, "depth", COUNT, 1, ADV_MAX_QP_WR / 2),
	QUANTITY(flow, timeout, "timeout", COUNT, 1, 31),
	QUANTITY(flow, retries, "retries", COUNT, 1, 7),
	END,
};

static const struct adv_scenario_key storm_keys[] = {
	QUANTITY(storm, host, "host", COUNT, 0, UINT32_MAX),
	QUANTITY(storm, priority, "priority", COUNT, 0, 7),
	QUANTITY(storm, from, "from", TIME, 0, TIME_MAX),
	QUANTITY(storm, to, "to", TIME, 1, TIME_MAX),
	END,
};

static const struct adv_scenario_key slow_keys[] = {
	QUANTITY(slow, host, "host", COUNT, 0, UINT32_MAX),
	QUANTITY(slow, speed, "speed", RATE, SPEED_MIN, SPEED_MAX),
	QUANTITY(slow, xoff, "xoff", BYTES, 0, 1u << 30),
	QUANTITY(slow, xon, "xon", BYTES, 0, 1u << 30),
	QUANTITY(slow, room, "room", BYTES, 1, 1u << 30),
	END,
};

static const struct adv_scenario_key loss_keys[] = {
	QUANTITY(loss, link, "link", COUNT, 0, UINT32_MAX),
	QUANTITY(loss, probability, "probability", RATIO, 0, ADV_RATIO_ONE),
	END,
};

static const struct adv_scenario_key failure_keys[] = {
	QUANTITY(failure, link, "link", COUNT, 0, UINT32_MAX),
	QUANTITY(failure, from, "from", TIME, 0, TIME_MAX),
	QUANTITY(failure, to, "to", TIME, 1, TIME_MAX),
	END,
};

static const struct adv_scenario_key link_keys[] = {
	NODE(link, from, "from"),
	NODE(link, to, "to"),
	QUANTITY(link, speed, "speed", RATE, SPEED_MIN, SPEED_MAX),
	QUANTITY(link, cable, "cable", LENGTH, 0, CABLE_MAX),
	END,
};

static const struct adv_scenario_key route_keys[] = {
	NODE(route, at, "at"),
	NODE(route, to, "to"),
	NODE(route, by, "by"),
	END,
};

static const struct adv_scenario_key map_keys[] = {
	QUANTITY(map, dscp, "dscp", COUNT, 0, 63),
	QUANTITY(map, priority, "priority", COUNT, 0, ADV_PRIORITIES - 1),
	END,
};

#define UNSAID UINT64_MAX

static const struct adv_scenario_flow flow = {
	.from = UNSAID, .to = UNSAID, .bytes = UNSAID, .count = UNSAID, .pieces = 1, .dscp = 26};
static const struct adv_scenario_storm storm = {.host = UNSAID, .priority = 3, .to = TIME_MAX};
static const struct adv_scenario_slow slow = {
	.host = UNSAID, .speed = UNSAID, .room = 1 << 20, .xoff = 1 << 19, .xon = 1 << 18};
static const struct adv_scenario_loss loss = {.link = UNSAID, .probability = UNSAID};
static const struct adv_scenario_failure failure = {.link = UNSAID, .to = UNSAID};
static const struct adv_scenario_link link_initial = {
	.from = UNSAID, .to = UNSAID, .cable = UNSAID};
static const struct adv_scenario_route route = {UNSAID, UNSAID, UNSAID};
static const struct adv_scenario_map map = {UNSAID, UNSAID};

#define ONE(name, keys, member)                                                                    \
	{                                                                                          \
		name, keys, offsetof(struct adv_scenario, member), -1, 0, NULL                     \
	}
#define MANY(name, keys, list, initial)                                                            \
	{                                                                                          \
		name, keys, 0, list, sizeof(initial), &(initial)                                   \
	}

const struct adv_scenario_section adv_scenario_sections[] = {
	ONE("network", network_keys, network),
	ONE("switch", switch_keys, sw),
	ONE("priority", priority_keys, priority),
	ONE("host", host_keys, host),
	ONE("run", run_keys, run),
	MANY("flow", flow_keys, ADV_SCENARIO_FLOWS, flow),
	MANY("storm", storm_keys, ADV_SCENARIO_STORMS, storm),
	MANY("slow", slow_keys, ADV_SCENARIO_SLOWS, slow),
	MANY("loss", loss_keys, ADV_SCENARIO_LOSSES, loss),
	MANY("failure", failure_keys, ADV_SCENARIO_FAILURES, failure),
	MANY("link", link_keys, ADV_SCENARIO_LINK_LIST, link_initial),
	MANY("route", route_keys, ADV_SCENARIO_ROUTE_LIST, route),
	MANY("map", map_keys, ADV_SCENARIO_MAPS, map),
	{NULL, NULL, 0, 0, 0, NULL},
};

static uint64_t ratio_of_1024(uint32_t n)
{
	return n * ADV_RATIO_ONE / 1024;
}

/* Uses the defaults of the fabric, converted to the units of a scenario. */
void adv_scenario_defaults(struct adv_scenario *s)
{
	struct adv_fabric_config c;

	memset(s, 0, sizeof(*s));
	adv_fabric_defaults(&c);
	s->network = (struct adv_scenario_network){.topology = UNSAID,
						   .hosts = 1,
						   .switches = UNSAID,
						   .senders = UNSAID,
						   .leaves = UNSAID,
						   .spines = UNSAID,
						   .ports = UNSAID,
						   .speed = 100000000000,
						   .cable = 10000,
						   .trunk_speed = UNSAID,
						   .trunk_cable = UNSAID,
						   .rails = UNSAID,
						   .pods = 1,
						   .routers = UNSAID,
						   .globals = UNSAID,
						   .global_speed = UNSAID,
						   .global_cable = UNSAID,
						   .reroute = UNSAID};
	s->sw = (struct adv_scenario_switch){.buffer = c.buffer,
					     .pause_quanta = ADV_QUANTA_MAX,
					     .pause_response = c.pause_response,
					     .watchdog_detect = 200 * ADV_PS_PER_MS,
					     .watchdog_restore = 400 * ADV_PS_PER_MS};
	for (unsigned p = 0; p < ADV_PRIORITIES; p++)
		s->priority[p] = (struct adv_scenario_priority){
			.lossless = c.class[p].lossless,
			.weight = c.class[p].weight,
			.xon_offset = c.class[p].xon_offset,
			.alpha = ratio_of_1024(c.class[p].alpha_1024),
			.ecn_probability = ADV_RATIO_ONE / 100,
		};
	s->host = (struct adv_scenario_host){.mtu = c.mtu,
					     .window = c.engine.window,
					     .loss_window = 1,
					     .reorder = UNSAID,
					     .rto_low = UNSAID,
					     .rto_high = UNSAID,
					     .ack_priority = UNSAID};
	for (unsigned i = 0; i < ADV_SCENARIO_CC; i++)
		s->host.cc[i] = UNSAID;
	s->run = (struct adv_scenario_run){.duration = 100 * ADV_PS_PER_MS,
					   .seed = 1,
					   .deadlock_check = c.check_deadlock,
					   .stop_at_deadlock = 1};
}
