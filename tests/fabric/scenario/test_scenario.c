/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "fabric/scenario/scenario.h"
#include "fabric/scenario/builder.h"
#include "run.h"

#define INCAST "[network]\ntopology = incast\nsenders = 4\n"

static void read_good(struct adv_scenario *s, const char *text)
{
	char why[ADV_SCENARIO_WHY] = "";

	if (!adv_scenario_read(s, "x.ini", text, strlen(text), why))
		fail_msg("%s", why);
}

#define TWO_LINKS                                                                                  \
	"[network]\ntopology = links\nhosts = 1\nswitches = 1\n[link]\nfrom = h0\nto = s0\n"

/* Each message has the line and the expected form. */
static void test_errors_of_reading(void **state)
{
	expect_refused("[nework]\n", "x.ini:1: no section 'nework'; the sections are: network");
	expect_refused("[nework]\n", "priority 0 to priority 7, ");
	expect_refused("[nework]\n", ", failure, ");
	expect_refused("[priority 5]\nalpha = x\n", "x.ini:2: [priority 5] alpha: 'x'");
	expect_refused("[switch]\nbuffer = 4GiB\n", "a value from 1 B to 4294967295 B");
	expect_refused("[flow]\nload = 0\n", "a value from 1e-06 to 1");
	expect_refused("\n# nothing\n[flow\n", "x.ini:3: a section's line ends with ]");
	expect_refused("[]\n", "x.ini:1: no section ''");
	expect_refused("[priority 8]\n", "x.ini:1: no section 'priority 8'");
	expect_refused("[priority]\n", "x.ini:1: no section 'priority'");
	expect_refused("[flow 2]\n", "x.ini:1: no section 'flow 2'");
	expect_refused("topology = pair\n", "x.ini:1: a section such as [network] must come first");
	expect_refused("[network]\ntopolgy = pair\n", "x.ini:2: [network] has no key 'topolgy'");
	expect_refused("[network]\ntopology pair\n", "x.ini:2: expected `key = value`");
	expect_refused("[network]\ntopology = star\n",
		       "x.ini:2: [network] topology = star: expected one of: pair, incast");
	expect_refused("[network]\nspeed = 100\n", "x.ini:2: [network] speed: ");
	expect_refused("[network]\nspeed = 100m\n", "x.ini:2: [network] speed: ");
	expect_refused("[network]\nspeed = 1b/s\n",
		       "x.ini:2: [network] speed = 1b/s: expected a value from 1 Mb/s to 8 Tb/s");
	expect_refused("[network]\nsenders = 0\n",
		       "x.ini:2: [network] senders = 0: expected a value from 1 to 255");
	expect_refused("[network]\nsenders = 4\n[run]\nseed = 2\n[network]\nsenders = 5\n",
		       "x.ini:6: senders is given twice");
	expect_refused(
		"[priority 3]\nxoff = 1kB\n[priority 4]\nxoff = 1kB\n[priority 3]\nxoff = 2kB\n",
		"x.ini:6: xoff is given twice");
	expect_refused("[flow]\nfrom = a\n", "x.ini:2: [flow] from = a: expected a host's number");
	expect_refused("[flow]\nfrom = 5-3\n", "x.ini:2: [flow] from = 5-3: expected");
	expect_refused("[link]\nfrom = x1\n",
		       "x.ini:2: [link] from = x1: expected a host such as h3");
	expect_refused("[host]\nmtu = 9000B\n",
		       "x.ini:2: [host] mtu = 9000B: expected a value from 256 B to 4096 B");
	expect_refused("[host]\nretransmission = sack\n",
		       "x.ini:2: [host] retransmission = sack: expected one of: go-back-n, "
		       "go-back-0, selective");
	expect_refused("[flow]\ndscp = \001\002\n", "x.ini:2: [flow] dscp: ");
}

static void test_errors_of_networks(void **state)
{
	expect_refused("", "x.ini: [network] needs `topology`");
	expect_refused("[network]\ntopology = incast\n",
		       "x.ini:2: [network] topology = incast needs `senders`");
	expect_refused("[network]\ntopology = fat-tree\nports = 5\n",
		       "x.ini:3: [network] ports = 5: expected an even number");
	expect_refused("[network]\ntopology = ring\nswitches = 2\n",
		       "x.ini:3: [network] switches = 2: expected 3 or more for a ring");
	expect_refused("[network]\ntopology = rails\nspines = 2\n",
		       "x.ini:2: [network] topology = rails needs `rails`");
	expect_refused(
		"[network]\ntopology = rails\nspines = 2\nrails = 8\npods = 33\n",
		"x.ini:5: [network] pods = 33: expected 32 at most with this number of rails");
	expect_refused("[network]\ntopology = dragonfly\nrouters = 4\n",
		       "x.ini:2: [network] topology = dragonfly needs `globals`");
	expect_refused("[network]\ntopology = dragonfly\nrouters = 200\nglobals = 10\n",
		       "x.ini:3: [network] routers = 200 and globals = 10: 400200 routers in all");
	expect_refused("[network]\ntopology = dragonfly\nrouters = 8\nglobals = 4\nhosts = 246\n",
		       "x.ini:5: [network] hosts = 246: expected 245 at most");
	expect_refused(INCAST "speed = 33Gb/s\n",
		       "x.ini:4: speed 33 Gb/s: a byte must take a whole number of picoseconds");
	expect_refused(INCAST "routes = one-way\n",
		       "x.ini:4: [network] routes = one-way is for topology = ring");
	expect_refused(INCAST "hosts = 5\n",
		       "x.ini:4: [network] hosts is not a key of this topology");
	expect_refused("[network]\nsenders = 5\ntopology = fat-tree\nports = 4\n",
		       "x.ini:2: [network] senders is not a key");
	expect_refused("[network]\ntopology = pair\ntrunk-speed = 1Gb/s\n",
		       "x.ini:3: [network] trunk-speed is not a key");
	expect_refused(INCAST "cable = 1000km\nspeed = 8Tb/s\n",
		       "x.ini: [switch] buffer = 33.554 MB: expected 50.");
	expect_refused("[network]\ntopology = leaf-spine\nleaves = 2\nspines = 56\nhosts = 201\n",
		       "x.ini:5: [network] hosts = 201: expected 200 at most at each switch");
	expect_refused("[network]\nhosts = 256\ntopology = dumbbell\n",
		       "x.ini:2: [network] hosts = 256: expected 255 at most");
	expect_refused("[network]\nhosts = 256\nswitches = 2\ntopology = parking-lot\n",
		       "x.ini:2: [network] hosts = 256: expected 255 at most");
	expect_refused("[network]\nhosts = 255\nswitches = 3\ntopology = ring\n",
		       "x.ini:2: [network] hosts = 255: expected 254 at most");
	expect_refused(INCAST "[link]\nfrom = h0\nto = s0\n",
		       "x.ini:4: [link] is for topology = links");
	expect_refused(
		"[network]\ntopology = links\nhosts = 2\nswitches = 1\n[link]\nfrom = h0\nto = "
		"s0\n",
		"x.ini:2: not every node has a route to host 1");
	expect_refused(
		"[network]\ntopology = links\nhosts = 2\nswitches = 1\n[link]\nfrom = h0\nto = "
		"s1\n",
		"x.ini:5: [link] from = h0, to = s1: s1 does not exist");
	expect_refused(TWO_LINKS "[link]\nfrom = s0\nto = s0\n",
		       "x.ini:8: [link] from and to are both s0");
	expect_refused(TWO_LINKS "[link]\nfrom = s0\nto = h0\n",
		       "x.ini:8: [link] from = s0, to = h0: h0 has a cable already");
	expect_refused(INCAST
		       "[route]\nat = s0\nto = h1\nby = h3\n[route]\nat = h0\nto = h1\nby = s0\n",
		       "x.ini:8: [route] at = h0, to = h1, by = s0: expected at = a switch");
}

static void test_errors_of_building(void **state)
{
	expect_refused(INCAST "[host]\nmtu = 1500B\n",
		       "x.ini:5: [host] mtu = 1500B: expected 256B, 512B");
	expect_refused(INCAST "[switch]\nbuffer = 10kB\n",
		       "x.ini:5: [switch] buffer = 10 kB: expected 101.17 kB or more");
	expect_refused(
		INCAST "[switch]\nwatchdog-poll = 1s\n",
		"x.ini:5: [switch] watchdog-detect = 200 ms is less than watchdog-poll = 1 s");
	expect_refused(INCAST "[switch]\nwatchdog-poll = 1ns\n",
		       "x.ini:5: [switch] watchdog-poll = 1 ns: expected 0s, or 1us");
	expect_refused(INCAST "[run]\ndeadlock-check = 1ps\n",
		       "x.ini:5: [run] deadlock-check = 1 ps: expected 0s, or 1us");
	expect_refused(INCAST "[run]\nsample = 1ps\n",
		       "x.ini:5: [run] sample = 1 ps: expected 0s, or 100ns");
	expect_refused(INCAST "[priority 3]\necn-min = 2kB\necn-max = 1kB\n",
		       "x.ini:5: [priority 3] ecn-min = 2000 B is more than ecn-max = 1000 B");
	expect_refused(INCAST "[flow]\nfrom = 0\n", "x.ini:4: [flow] needs `from` and `to`");
	expect_refused(INCAST "[flow]\nfrom = 0\nto = 5\n",
		       "x.ini:4: [flow] host 5 does not exist: the last");
	expect_refused(INCAST "[flow]\nfrom = 3-9\nto = 1\n",
		       "x.ini:4: [flow] host 9 does not exist");
	expect_refused(INCAST "[flow]\nfrom = 2\nto = 2\n",
		       "x.ini:4: [flow] from = 2 and to = 2: a host does not send to itself");
	expect_refused(INCAST "[flow]\nfrom = next\nto = 2\n", "x.ini:4: [flow] from: expected");
	expect_refused("[network]\ntopology = incast\nsenders = 255\n"
		       "[flow]\nfrom = all\nto = all\ndepth = 16384\n",
		       "x.ini:4: needs about 549.974 GB of memory");
	expect_refused("[network]\ntopology = leaf-spine\nleaves = 100\nspines = 1\nhosts = 100\n"
		       "[flow]\nfrom = all\nto = all\n",
		       "x.ini:6: [flow] more than 1000000 connections");
	expect_refused(INCAST "[flow]\nfrom = 0\nto = 1\narrivals = poisson\n",
		       "x.ini:4: [flow] arrivals = poisson needs `interval`");
	expect_refused(INCAST "[flow]\nfrom = 0\nto = 1\nendless = yes\ncount = 2\n",
		       "x.ini:4: [flow] endless = yes has no `count`");
	expect_refused(INCAST "[flow]\nfrom = 0-2\npattern = allreduce\ninterval = 1ms\n",
		       "x.ini:4: [flow] pattern of a collective has no");
	expect_refused(INCAST "[priority 3]\nalpha = 0.0009\n",
		       "x.ini:5: [priority 3] alpha = 0.0009: expected");
	expect_refused(INCAST "[priority 3]\necn-probability = 0.0000009\n",
		       "x.ini:5: [priority 3] ecn-probability = 9e-07: expected");
	expect_refused(INCAST "[loss]\nlink = 0\nprobability = 0.0000009\n",
		       "x.ini:4: [loss] probability = 9e-07: expected");
	expect_refused(INCAST "[switch]\npause-quanta = 100\n",
		       "x.ini:5: [switch] pause-quanta = 100: expected 135 or more");
	expect_refused(INCAST "[priority 2]\nreserved = 1GB\n",
		       "x.ini: [switch] buffer = 33.554 MB: expected 5 GB");
	expect_refused(INCAST
		       "[loss]\nlink = 1\nprobability = 0.5\n[loss]\nprobability = 0.1\nlink = 1\n",
		       "x.ini:7: [loss] link = 1: the cable has a [loss] already");
	expect_refused(INCAST
		       "[slow]\nhost = 1\nspeed = 10Gb/s\n[slow]\nhost = 1\nspeed = 20Gb/s\n",
		       "x.ini:7: [slow] host = 1: the host has a [slow] already");
	expect_refused(INCAST "[storm]\nhost = 5\n",
		       "x.ini:4: [storm] host 5 does not exist: the last one is 4");
	expect_refused(INCAST "[storm]\nto = 1ms\n", "x.ini:4: [storm] needs `host`");
	expect_refused(INCAST "[loss]\nlink = 99\nprobability = 0.5\n",
		       "x.ini:4: [loss] link = 99: the network has 5 cables, from 0");
	expect_refused(INCAST "[slow]\nhost = 5\nspeed = 10Gb/s\n",
		       "x.ini:4: [slow] host 5 does not exist");
	expect_refused(INCAST "[storm]\nhost = 1\nfrom = 2ms\nto = 1ms\n",
		       "x.ini:4: [storm] to = 1 ms: expected a time after `from`, 2 ms");
	expect_refused(INCAST "[loss]\nlink = 0\n", "x.ini:4: [loss] needs `probability`");
	expect_refused(INCAST "[slow]\nhost = 1\n", "x.ini:4: [slow] needs `speed`");
	expect_refused(
		INCAST "[slow]\nhost = 1\nspeed = 10Gb/s\nxon = 1GB\n",
		"[slow] xon = 1 GB, xoff = 524.288 kB, room = 1.049 MB: expected xon <= xoff");
}

/* Values that earlier had no effect, or lost throughput without a word, are refused. */
static void test_errors_of_senseless_values(void **state)
{
	expect_refused(INCAST, "x.ini: no section [flow]: nothing would be sent");
	expect_refused(
		INCAST "[priority 3]\nxoff = 8kB\n",
		"x.ini:5: [priority 3] xoff = 8000 B: expected more than xon-offset = 8400 B");
	expect_refused(INCAST "[switch]\nbuffer = 1MB\n[priority 3]\nxoff = 1001kB\n",
		       "x.ini:7: [priority 3] xoff = 1.001 MB is more than [switch] buffer = 1 MB");
	expect_refused(
		INCAST "[flow]\nfrom = 0\nto = 1\nsizes = hadoop\nbytes = 1kB\n",
		"x.ini:4: [flow] bytes = 1000 B: has no effect beside a distribution of `sizes`");
	expect_refused(
		INCAST "[flow]\nfrom = 0\nto = 1\nsizes = websearch\nbytes = 1MB\n",
		"x.ini:4: [flow] bytes = 1 MB: has no effect beside a distribution of `sizes`");
	expect_refused(INCAST "[flow]\nfrom = 0\nto = 1\nendless = yes\nbytes = 1MB\n",
		       "x.ini:4: [flow] bytes = 1 MB: has no effect beside endless = yes");
	expect_refused(INCAST "[host]\nrpg_time_reset = 55.5us\n",
		       "x.ini:5: [host] rpg_time_reset = 55.5 us: expected whole microseconds");
	expect_refused(INCAST "[host]\nrpg_min_dec_fac = 0.505\n",
		       "x.ini:5: [host] rpg_min_dec_fac = 0.505: expected a whole percentage");
	expect_refused(INCAST "[host]\nrpg_max_rate = 50Mb/s\n",
		       "x.ini: [host] rpg_min_rate = 100 Mb/s is more than rpg_max_rate = 50 Mb/s");
	expect_refused(INCAST "[host]\nack-priority = 8\n",
		       "x.ini:5: [host] ack-priority = 8: expected a value from 0 to 7");
}

/* [host] has a key for each parameter of DCQCN, with its range. */
static void test_dcqcn_keys(void **state)
{
	static const struct {
		const char *unit, *text;
	} units[] = {{"us", "us"}, {"Mb/s", "Mb/s"}, {"%", "%"}, {"bytes", "B"}, {"", ""}};
	const struct adv_cc_parameter *p;
	unsigned i = 0;

	for (; (p = adv_cc_parameter(i)); i++) {
		uint64_t values[] = {p->min, p->max, (uint64_t)p->max + 1, (uint64_t)p->min - 1};
		unsigned u = 0;

		while (strcmp(units[u].unit, p->unit) != 0)
			u++;
		for (unsigned k = 0; k < 3 + (p->min > 0); k++) {
			char text[160], why[ADV_SCENARIO_WHY];
			struct adv_scenario s;
			int n = snprintf(text, sizeof(text), "[host]\n%s = %llu%s\n", p->name,
					 (unsigned long long)values[k], units[u].text);

			if (p->min == p->max)
				continue;
			assert_int_equal(adv_scenario_read(&s, "x", text, (size_t)n, why), k < 2);
			assert_true(k >= 2 || s.host.cc[i] != UINT64_MAX);
			adv_scenario_free(&s);
		}
	}
	assert_int_equal(i, ADV_SCENARIO_CC);
}

/* Returns the parameters that the builder passes on for these lines of [host]. */
static struct adv_cc_params params_of(const char *host_section, uint32_t *ai_rate_at)
{
	char text[512], why[ADV_SCENARIO_WHY];
	struct adv_scenario s;
	struct adv_scenario_builder b = {.s = &s, .why = why};
	struct adv_fabric_config c = {.buffer = 0};
	struct adv_cc_config cc;
	int n = snprintf(text, sizeof(text), "[host]\n%s", host_section);

	assert_true(adv_scenario_read(&s, "x", text, (size_t)n, why));
	assert_true(adv_scenario_congestion(&b, &c, &cc));
	adv_scenario_free(&s);
	*ai_rate_at = c.ai_rate_at;
	return cc.params;
}

/* Parameters that are not given are the paper's or mlx5's. R_AI is for a line rate, unless it is
 * given. */
static void test_dcqcn_defaults(void **state)
{
	struct adv_cc_params p;
	uint32_t at;

	p = params_of("", &at);
	assert_int_equal(p.rpg_ai_rate, 40);
	assert_int_equal(at, 40000);
	p = params_of("dcqcn-parameters = paper\n", &at);
	assert_int_equal(p.rpg_ai_rate, 40);
	assert_int_equal(at, 0);
	p = params_of("dcqcn-parameters = mlx5\nrpg_hai_rate = 60Mb/s\n", &at);
	assert_int_equal(p.rpg_ai_rate, 5);
	assert_int_equal(p.rpg_hai_rate, 60);
	assert_int_equal(p.rpg_time_reset, 300);
	assert_int_equal(p.rpg_byte_reset, 32767);
	assert_int_equal(at, 25000);
	p = params_of("rpg_ai_rate = 77Mb/s\nrpg_min_dec_fac = 10%\ndce_tcp_rtt = 3us\n", &at);
	assert_int_equal(p.rpg_ai_rate, 77);
	assert_int_equal(p.rpg_min_dec_fac, 10);
	assert_int_equal(p.dce_tcp_rtt, 3);
	assert_int_equal(at, 0);
}

static void test_values(void **state)
{
	struct adv_scenario s;
	const struct adv_scenario_flow *flow;

	read_good(&s, INCAST "speed = 400Gb/s # a comment\r\n"
			     "  cable=2km\n[priority 3]\nalpha = 1/16\n xoff = 40KiB\n\n"
			     "[flow]\nfrom = 0-3\nto = 4\nbytes = 1.5MB\noperation = read\n"
			     "[flow]\nfrom = all\nto = next\nendless = yes");
	assert_int_equal(s.network.speed, 400000000000);
	assert_int_equal(s.network.cable, 2000000);
	assert_int_equal(s.priority[3].alpha, 62500000);
	assert_int_equal(s.priority[3].xoff, 40960);
	assert_int_equal(s.priority[3].lossless, 1);
	assert_int_equal(s.list[ADV_SCENARIO_FLOWS].count, 2);
	flow = s.list[ADV_SCENARIO_FLOWS].item;
	assert_int_equal(flow[0].from, 3);
	assert_int_equal(flow[0].to, 4ull << 32 | 4);
	assert_int_equal(flow[0].bytes, 1500000);
	assert_int_equal(flow[0].operation, ADV_FABRIC_READ);
	assert_int_equal(flow[1].from, ADV_SCENARIO_ALL);
	assert_int_equal(flow[1].to, ADV_SCENARIO_NEXT);
	assert_int_equal(flow[1].endless, 1);
	adv_scenario_free(&s);
}

static void test_set(void **state)
{
	char why[ADV_SCENARIO_WHY];
	struct adv_scenario s;
	const struct adv_scenario_flow *flow;

	read_good(&s, INCAST "[flow]\nfrom = 0\nto = 4\n[flow]\nfrom = 1\nto = 4\n");
	assert_true(adv_scenario_set(&s, "run.seed=77", why));
	assert_int_equal(s.run.seed, 77);
	assert_true(adv_scenario_set(&s, "priority 5.weight = 3", why));
	assert_int_equal(s.priority[5].weight, 3);
	assert_true(adv_scenario_set(&s, "flow.bytes=2MB", why));
	flow = s.list[ADV_SCENARIO_FLOWS].item;
	assert_int_equal(flow[0].bytes, 2000000);
	assert_int_equal(flow[1].bytes, 2000000);
	assert_false(adv_scenario_set(&s, "seed=77", why));
	assert_non_null(strstr(why, "expected section.key=value"));
	assert_false(adv_scenario_set(&s, "run.sed=77", why));
	assert_non_null(strstr(why, "[run] has no key 'sed'"));
	assert_false(adv_scenario_set(&s, "run.seed=x", why));
	assert_false(adv_scenario_set(&s, "storm.host=1", why));
	assert_non_null(strstr(why, "the file has no section [storm]"));
	adv_scenario_free(&s);
}

static struct adv_fabric *build(struct adv_scenario *s, struct adv_topology *t, const char *text)
{
	char why[ADV_SCENARIO_WHY] = "";
	struct adv_fabric *f;

	read_good(s, text);
	if (!adv_scenario_build(s, t, &f, why))
		fail_msg("%s", why);
	return f;
}

static unsigned transfers_of(const char *text, uint64_t duration)
{
	struct adv_scenario s;
	struct adv_topology t;
	struct adv_fabric *f = build(&s, &t, text);
	const struct adv_scenario_flow *flow = s.list[ADV_SCENARIO_FLOWS].item;
	unsigned n = flow->transfers;

	assert_int_equal(adv_fabric_run(f, duration), ADV_FABRIC_DONE);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(adv_fabric_get_transfer(f, i)->status, IBV_WC_SUCCESS);
	adv_fabric_destroy(f);
	adv_topology_free(&t);
	adv_scenario_free(&s);
	return n;
}

/* Each choice of sources and destinations makes the right number of transfers. */
static void test_flows(void **state)
{
	assert_int_equal(transfers_of(INCAST "[flow]\nfrom = 0-3\nto = 4\ncount = 3\n", MS * 100),
			 12);
	assert_int_equal(transfers_of(INCAST "[flow]\nfrom = 0-1\nto = 2-3\n", MS * 100), 2);
	assert_int_equal(transfers_of(INCAST "[flow]\nfrom = 0-1\nto = 2-4\n", MS * 100), 6);
	assert_int_equal(transfers_of(INCAST "[flow]\nfrom = all\nto = all\n", MS * 100), 20);
	assert_int_equal(transfers_of(INCAST "[flow]\nfrom = all\nto = permutation\n", MS * 100),
			 5);
	assert_int_equal(
		transfers_of(INCAST "[flow]\nfrom = all\nto = next\noperation = send\n", MS * 100),
		5);
	/* Transfers that would begin after the end of the run do not exist. */
	assert_int_equal(transfers_of(INCAST "[flow]\nfrom = 0\nto = 4\nbytes = 1kB\ncount = 1000\n"
					     "interval = 1ms\n[run]\nduration = 9.5ms\n",
				      MS * 100),
			 10);
}

/* A random destination is any host but the source. */
static void test_random_destinations(void **state)
{
	enum { SOURCE = 2, HOSTS = 5 };
	struct adv_scenario s;
	struct adv_topology t;
	struct adv_fabric *f = build(&s, &t,
				     INCAST "[flow]\nfrom = 2\nto = random\nbytes = 1kB\n"
					    "interval = 1us\ncount = 200\n");
	const struct adv_scenario_flow *flow = s.list[ADV_SCENARIO_FLOWS].item;
	unsigned chosen[HOSTS] = {0};

	assert_int_equal(flow->transfers, 200);
	for (uint32_t i = 0; i < flow->transfers; i++) {
		uint32_t c = adv_fabric_get_transfer(f, i)->connection;
		uint32_t to = adv_fabric_get_connection(f, c)->target;

		assert_in_range(to, 0, HOSTS - 1);
		chosen[to]++;
	}
	for (unsigned host = 0; host < HOSTS; host++) {
		if (host == SOURCE)
			assert_int_equal(chosen[host], 0);
		else
			assert_in_range(chosen[host], 25, 80); /* 50 are expected */
	}
	adv_fabric_destroy(f);
	adv_topology_free(&t);
	adv_scenario_free(&s);
}

/* An all-reduce in a ring of N hosts has 2 (N - 1) steps. Each step moves pieces of 1/N. A step
 * begins when its piece has arrived, before the sender of the piece knows. */
static void test_allreduce(void **state)
{
	enum { HOSTS = 4, STEPS = 2 * (HOSTS - 1), PIECE = 250000 };
	struct adv_scenario s;
	struct adv_topology t;
	struct adv_fabric *f = build(&s, &t,
				     INCAST "[flow]\npattern = allreduce\nfrom = 0-3\n"
					    "bytes = 1MB\ncount = 2\n");
	const struct adv_scenario_flow *flow = s.list[ADV_SCENARIO_FLOWS].item;
	uint64_t least = PIECE * 80ull;

	assert_int_equal(flow->transfers, 2 * STEPS * HOSTS);
	assert_int_equal(adv_fabric_run(f, 10 * MS), ADV_FABRIC_DONE);
	for (uint32_t i = 0; i < flow->transfers; i++) {
		const struct adv_fabric_transfer_state *x = adv_fabric_get_transfer(f, i);

		assert_int_equal(x->status, IBV_WC_SUCCESS);
		assert_int_equal(x->bytes, PIECE);
		if (i >= HOSTS) {
			uint64_t end = adv_fabric_get_transfer(f, i / HOSTS * HOSTS - HOSTS +
									  (i + HOSTS - 1) % HOSTS)
					       ->end;

			assert_in_range(x->start, end - 300 * NS, end - 100 * NS);
		}
	}
	assert_in_range(adv_fabric_now(f), 2 * STEPS * least, 2 * STEPS * least * 107 / 100);
	adv_fabric_destroy(f);
	adv_topology_free(&t);
	adv_scenario_free(&s);
	expect_refused(INCAST "[flow]\npattern = allreduce\nfrom = 2\n", "x.ini:4: [flow] pattern");
	expect_refused(INCAST "[flow]\npattern = allreduce\nfrom = 0-1\nto = 2\n", "and no `to`");
}

static void test_random_sizes_and_times(void **state)
{
	struct adv_scenario s;
	struct adv_topology t;
	struct adv_fabric *f =
		build(&s, &t,
		      INCAST "[flow]\nfrom = 0\nto = 4\nbytes = 100kB\nsizes = exponential\n"
			     "count = 20000\ninterval = 100us\narrivals = poisson\n"
			     "[run]\nduration = 100s\n");
	uint64_t bytes = 0, small = 0, early = 0, last = 0;

	for (unsigned i = 0; i < 20000; i++) {
		const struct adv_fabric_transfer_state *x = adv_fabric_get_transfer(f, i);

		bytes += x->bytes;
		small += x->bytes < 69315; /* the median is ln 2 times the mean */
		assert_true(x->start >= last);
		early += x->start - last < 69315 * NS;
		last = x->start;
	}
	assert_in_range(bytes / 20000, 97000, 103000);
	assert_in_range(small, 9700, 10300);
	assert_in_range(last / 20000, 97 * US, 103 * US);
	assert_in_range(early, 9700, 10300);
	adv_fabric_destroy(f);
	adv_topology_free(&t);
	adv_scenario_free(&s);
}

static uint64_t mean_of(const char *sizes, uint64_t limit, unsigned *below)
{
	char text[400];
	struct adv_scenario s;
	struct adv_topology t;
	struct adv_fabric *f;
	uint64_t bytes = 0;

	snprintf(text, sizeof(text), INCAST "[flow]\nfrom = 0\nto = 4\nsizes = %s\ncount = 50000\n",
		 sizes);
	f = build(&s, &t, text);
	*below = 0;
	for (unsigned i = 0; i < 50000; i++) {
		const struct adv_fabric_transfer_state *x = adv_fabric_get_transfer(f, i);

		assert_in_range(x->bytes, 1, 30000000);
		bytes += x->bytes;
		*below += x->bytes < limit;
	}
	adv_fabric_destroy(f);
	adv_topology_free(&t);
	adv_scenario_free(&s);
	return bytes / 50000;
}

/* The means of the measured distributions are as expected. The expected mean was computed by hand:
 * the sum over all steps of the size in the middle of the step, times the share of the step. */
static void test_measured_sizes(void **state)
{
	unsigned below;

	assert_in_range(mean_of("websearch", 80000, &below), 1711250 * 95 / 100,
			1711250 * 105 / 100);
	assert_in_range(below, 26500 - 500, 26500 + 500);
	assert_in_range(mean_of("hadoop", 1000, &below), 120421 * 92 / 100, 120421 * 108 / 100);
	assert_in_range(below, 30000 - 500, 30000 + 500);
}

/* A file can describe the network as a list of cables, and can set a route. */
static void test_links(void **state)
{
	struct adv_scenario s;
	struct adv_topology t;
	struct adv_fabric *f =
		build(&s, &t,
		      "[network]\ntopology = links\nhosts = 2\nswitches = 3\n"
		      "[link]\nfrom = h0\nto = s0\n[link]\nfrom = h1\nto = s1\nspeed = 25Gb/s\n"
		      "[link]\nfrom = s0\nto = s1\n[link]\nfrom = s0\nto = s2\ncable = 1km\n"
		      "[link]\nfrom = s2\nto = s1\ncable = 0m\n[route]\nat = s0\nto = h1\nby = s2\n"
		      "[flow]\nfrom = 0\nto = 1\nbytes = 1MB\n");

	assert_int_equal(t.links, 5);
	assert_int_equal(t.link[1].cable.ps_per_byte, 320);
	assert_int_equal(t.link[0].cable.delay, 50 * 1000);
	assert_int_equal(t.link[3].cable.delay, 5 * US);
	assert_int_equal(t.link[4].cable.delay, 0);
	assert_int_equal(adv_fabric_run(f, 10 * MS), ADV_FABRIC_DONE);
	assert_true(adv_switch_counters(adv_fabric_switch(f, 2))->rx_frames >= 245);
	adv_fabric_destroy(f);
	adv_topology_free(&t);
	adv_scenario_free(&s);
}

/* A [map] section sets the priority of a DSCP, also that of CNPs. Other DSCPs have priority
 * DSCP / 8. */
static void test_map(void **state)
{
	struct adv_scenario s;
	struct adv_topology t;
	struct adv_fabric *f =
		build(&s, &t,
		      INCAST "[map]\ndscp = 10\npriority = 5\n[map]\ndscp = 48\n"
			     "priority = 7\n[priority 3]\necn-max = 10kB\n"
			     "[flow]\nfrom = 0-1\nto = 4\nbytes = 40960B\n"
			     "[flow]\nfrom = 2\nto = 4\nbytes = 40960B\ndscp = 10\n"
			     "[flow]\nfrom = 3\nto = 4\nbytes = 40960B\ndscp = 11\n");
	const struct adv_egress *e = adv_switch_egress(adv_fabric_switch(f, 0), 4);

	assert_int_equal(adv_fabric_run(f, 10 * MS), ADV_FABRIC_DONE);
	assert_int_equal(e->queue[3].sent, 20);
	assert_int_equal(e->queue[5].sent, 10);
	assert_int_equal(e->queue[1].sent, 10);
	e = adv_fabric_egress(f, 4);
	assert_true(e->queue[7].sent > 0);
	assert_int_equal(e->queue[6].sent, 0);
	adv_fabric_destroy(f);
	adv_topology_free(&t);
	adv_scenario_free(&s);
	expect_refused(INCAST "[map]\ndscp = 64\n",
		       "x.ini:5: [map] dscp = 64: expected a value from 0 to 63");
	expect_refused(INCAST "[map]\ndscp = 6\n", "x.ini:4: [map] needs `dscp` and `priority`");
	expect_refused(INCAST "[map]\ndscp = 6\npriority = 1\n[map]\npriority = 2\ndscp = 6\n",
		       "x.ini:7: [map] dscp = 6: the DSCP has a priority already");
}

/* A random file is either read or refused. */
static void test_noise(void **state)
{
	static const char *const pieces[] = {"[flow]\n",
					     "[priority 3]\n",
					     "from = ",
					     "0-3",
					     "\n",
					     "=",
					     "[",
					     "]",
					     "xoff",
					     "\001",
					     "all",
					     "#",
					     "18446744073709551616",
					     "bytes = 1MB\n",
					     "[link]\n",
					     "s1",
					     ".",
					     "-",
					     "to = ",
					     "[network]\n",
					     "topology = incast\n",
					     "senders = 3\n",
					     "\r",
					     "%",
					     "/"};
	struct adv_rng r;

	adv_rng_seed(&r, 11);
	for (unsigned i = 0; i < 20000; i++) {
		char text[256] = "", why[ADV_SCENARIO_WHY] = "";
		struct adv_scenario s;
		struct adv_topology t;
		struct adv_fabric *f;
		size_t n = 0;

		while (adv_rng_below(&r, 16) && n < 200)
			n += (size_t)sprintf(
				text + n, "%s",
				pieces[adv_rng_below(&r, sizeof(pieces) / sizeof(*pieces))]);
		if (!adv_scenario_read(&s, "x", text, n, why)) {
			assert_true(why[0]);
		} else if (i % 8 == 0 && adv_scenario_build(&s, &t, &f, why)) {
			adv_fabric_destroy(f);
			adv_topology_free(&t);
		}
		adv_scenario_free(&s);
	}
}

static void append(void *user, const char *section, const char *key, const char *value)
{
	char *all = user;
	size_t len = strlen(all);

	snprintf(all + len, 1000 - len, "%s.%s=%s\n", section, key, value);
}

/* adv_scenario_changes() reports only the values that differ from the defaults. */
static void test_changes(void **state)
{
	char all[1000] = "", why[ADV_SCENARIO_WHY] = "";
	struct adv_scenario s;

	read_good(&s, INCAST "[priority 3]\nxoff = 40kB\nlossless = yes\n[priority 7]\n"
			     "lossless = yes\n[host]\ncongestion-control = none\n"
			     "[flow]\nfrom = 0-3\nto = 4\n[flow]\nfrom = all\nto = next\n"
			     "[flow]\nfrom = 1\nto = 2\n[link]\nfrom = h3\nto = s1\n");
	assert_true(adv_scenario_set(&s, "run.seed=7", why));
	adv_scenario_changes(&s, 2, append, all);
	assert_string_equal(all, "network.topology=incast\nnetwork.senders=4\n"
				 "priority 3.xoff=40 kB\npriority 7.lossless=yes\n"
				 "host.congestion-control=none\nrun.seed=7\n"
				 "flow 0.from=0-3\nflow 0.to=4\nflow 1.from=all\nflow 1.to=next\n"
				 "link 0.from=h3\nlink 0.to=s1\n");
	adv_scenario_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_of_reading),
		cmocka_unit_test(test_errors_of_networks),
		cmocka_unit_test(test_errors_of_building),
		cmocka_unit_test(test_errors_of_senseless_values),
		cmocka_unit_test(test_dcqcn_keys),
		cmocka_unit_test(test_dcqcn_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_allreduce),
		cmocka_unit_test(test_random_destinations),
		cmocka_unit_test(test_random_sizes_and_times),
		cmocka_unit_test(test_measured_sizes),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
