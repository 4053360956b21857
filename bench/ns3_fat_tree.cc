/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The scenario of fabric.c in ns-3, as far as its models allow. bench/fabric-speed builds it. Fat
 * tree, cables and permutation are the same. Each host sends UDP datagrams of 4,096 bytes at a
 * constant rate. There is no PFC, DCQCN, acknowledgement or retransmission.
 *
 *	ns3_fat_tree K MICROSECONDS SEED MBPS
 *
 * MBPS: payload rate of each host. The program uses the faster of ns-3's alternatives: no queueing
 * discipline beside the device's queue, no checksums, sockets without an application, and computed
 * routes instead of tables (below).
 */
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <time.h>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include "base/rng.h"

using namespace ns3;

static const uint32_t PAYLOAD = 4096;
static const uint32_t FIRST_ADDRESS = 0x0a000001; /* 10.0.0.1: host 0 */
static const uint16_t UDP_PORT = 4791;

/* The nodes of a fat tree, numbered like those of adv_topology_fat_tree(). */
struct FatTree {
	uint32_t half, edges, hosts, switches;

	explicit FatTree(uint32_t k)
	    : half(k / 2), edges(k * half), hosts(edges * half), switches(2 * edges + half * half)
	{
	}
};

/*
 * Routes of a fat tree without a table: down by the only port that leads to the host, otherwise up by
 * the port that a hash of the flow selects. ns-3 itself searches a list of routes for each packet,
 * with the same first choice for all flows, or selects a random path for each packet. Ports: first
 * those down, in order, then those up; a core switch has one for each pod.
 */
class FatTreeRouting : public Ipv4RoutingProtocol
{
      public:
	static TypeId GetTypeId()
	{
		static TypeId tid = TypeId("FatTreeRouting").SetParent<Ipv4RoutingProtocol>();

		return tid;
	}

	void Place(const FatTree &tree, uint32_t node, uint32_t seed)
	{
		m_tree = &tree;
		m_node = node;
		m_seed = seed;
	}

	void AddPort(Ptr<NetDevice> device)
	{
		Ptr<Ipv4Route> route = Create<Ipv4Route>();

		route->SetOutputDevice(device);
		route->SetGateway(Ipv4Address::GetAny());
		route->SetSource(Ipv4Address(FIRST_ADDRESS + m_node));
		m_routes.push_back(route);
	}

	Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header &, Ptr<NetDevice>,
				   Socket::SocketErrno &error) override
	{
		error = Socket::ERROR_NOTERROR;
		return m_routes[0];
	}

	bool RouteInput(Ptr<const Packet> packet, const Ipv4Header &header, Ptr<const NetDevice>,
			UnicastForwardCallback forward, MulticastForwardCallback,
			LocalDeliverCallback deliver, ErrorCallback) override
	{
		uint32_t to = header.GetDestination().Get() - FIRST_ADDRESS;

		if (m_node < m_tree->hosts)
			deliver(packet, header, 1);
		else
			forward(m_routes[Port(to, header.GetSource().Get())], packet, header);
		return true;
	}

	void NotifyInterfaceUp(uint32_t) override
	{
	}
	void NotifyInterfaceDown(uint32_t) override
	{
	}
	void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override
	{
	}
	void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override
	{
	}
	void SetIpv4(Ptr<Ipv4>) override
	{
	}
	void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override
	{
	}

      private:
	uint32_t Port(uint32_t to, uint32_t from) const
	{
		uint32_t half = m_tree->half, edge = to / half, pod = edge / half;
		uint32_t here = m_node - m_tree->hosts;

		if (here >= 2 * m_tree->edges)
			return pod;
		if (here < m_tree->edges)
			return edge == here ? to % half : half + Up(to, from);
		here -= m_tree->edges;
		return pod == here / half ? edge % half : half + Up(to, from);
	}

	uint32_t Up(uint32_t to, uint32_t from) const
	{
		uint64_t h = (from * 0x9e3779b1u ^ to * 0x85ebca77u ^ m_seed) * 0x9e3779b97f4a7c15u;

		h ^= h >> 32;
		h *= 0xd6e8feb86659fd93u;
		return (uint32_t)(((h >> 32) * m_tree->half) >> 32);
	}

	const FatTree *m_tree = nullptr;
	uint32_t m_node = 0, m_seed = 0;
	std::vector<Ptr<Ipv4Route>> m_routes;
};

static uint64_t sent, received, wrong; /* datagrams */

/* Sends at a constant rate without end. */
class Source
{
      public:
	Source(Ptr<Node> node, uint32_t to, uint64_t mbps, double phase)
	    : m_socket(Socket::CreateSocket(node, UdpSocketFactory::GetTypeId())),
	      m_interval(PicoSeconds((uint64_t)PAYLOAD * 8 * 1000000 / mbps))
	{
		m_socket->Bind();
		m_socket->Connect(InetSocketAddress(Ipv4Address(FIRST_ADDRESS + to), UDP_PORT));
		Simulator::Schedule(m_interval * phase, &Source::Send, this);
	}

	void Send()
	{
		m_socket->Send(Create<Packet>(PAYLOAD));
		sent++;
		Simulator::Schedule(m_interval, &Source::Send, this);
	}

      private:
	Ptr<Socket> m_socket;
	Time m_interval;
};

static void Receive(Ptr<Socket> socket)
{
	while (Ptr<Packet> packet = socket->Recv()) {
		received++;
		wrong += packet->GetSize() != PAYLOAD;
	}
}

static double Processor()
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static double Wall()
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long MemoryKib()
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

class Network
{
      public:
	explicit Network(uint32_t k) : m_tree(k)
	{
	}

	void Build(uint64_t seed)
	{
		InternetStackHelper stack;

		m_nodes.Create(m_tree.hosts + m_tree.switches);
		stack.SetIpv6StackInstall(false);
		stack.Install(m_nodes);
		adv_rng_seed(&m_rng, seed);
		for (uint32_t i = 0; i < m_nodes.GetN(); i++) {
			Ptr<FatTreeRouting> routing = CreateObject<FatTreeRouting>();

			routing->Place(m_tree, i, (uint32_t)adv_rng_next(&m_rng));
			m_nodes.Get(i)->GetObject<Ipv4>()->SetRoutingProtocol(routing);
			m_routing.push_back(routing);
		}
		Cables();
	}

	/* The permutation of fabric.c from the same seed. */
	void Send(uint64_t seed, uint64_t mbps)
	{
		std::vector<uint32_t> to(m_tree.hosts);
		struct adv_rng rng;

		adv_rng_seed(&rng, seed);
		for (uint32_t i = 0; i < m_tree.hosts; i++)
			to[i] = i;
		for (uint32_t i = m_tree.hosts; i-- > 1;)
			std::swap(to[i], to[adv_rng_below(&rng, i)]);
		for (uint32_t i = 0; i < m_tree.hosts; i++) {
			Ptr<Socket> sink =
				Socket::CreateSocket(m_nodes.Get(i), UdpSocketFactory::GetTypeId());

			sink->Bind(InetSocketAddress(Ipv4Address::GetAny(), UDP_PORT));
			sink->SetRecvCallback(MakeCallback(&Receive));
			m_sinks.push_back(sink);
			m_sources.push_back(new Source(m_nodes.Get(i), to[i], mbps,
						       (double)adv_rng_below(&m_rng, 1000) / 1000));
		}
	}

	uint32_t Hosts() const
	{
		return m_tree.hosts;
	}

      private:
	void Cables()
	{
		uint32_t half = m_tree.half, edges = m_tree.edges, first = m_tree.hosts;

		for (uint32_t h = 0; h < m_tree.hosts; h++)
			Cable(h, first + h / half, NanoSeconds(10));
		for (uint32_t e = 0; e < edges; e++)
			for (uint32_t a = 0; a < half; a++)
				Cable(first + e, first + edges + e / half * half + a,
				      NanoSeconds(500));
		for (uint32_t a = 0; a < edges; a++)
			for (uint32_t c = 0; c < half; c++)
				Cable(first + edges + a, first + 2 * edges + a % half * half + c,
				      NanoSeconds(500));
	}

	void Cable(uint32_t a, uint32_t b, Time delay)
	{
		PointToPointHelper cable;
		NetDeviceContainer ends;

		cable.SetDeviceAttribute("DataRate", StringValue("100Gbps"));
		cable.SetDeviceAttribute("Mtu", UintegerValue(PAYLOAD + 28));
		cable.SetChannelAttribute("Delay", TimeValue(delay));
		cable.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000p"));
		cable.DisableFlowControl();
		ends = cable.Install(m_nodes.Get(a), m_nodes.Get(b));
		Interface(a, ends.Get(0));
		Interface(b, ends.Get(1));
	}

	void Interface(uint32_t node, Ptr<NetDevice> device)
	{
		Ptr<Ipv4> ip = m_nodes.Get(node)->GetObject<Ipv4>();
		uint32_t i = ip->AddInterface(device);

		if (node < m_tree.hosts)
			ip->AddAddress(i, Ipv4InterfaceAddress(Ipv4Address(FIRST_ADDRESS + node),
							       Ipv4Mask("255.0.0.0")));
		ip->SetUp(i);
		ip->SetForwarding(i, true);
		m_routing[node]->AddPort(device);
	}

	FatTree m_tree;
	NodeContainer m_nodes;
	std::vector<Ptr<FatTreeRouting>> m_routing;
	std::vector<Ptr<Socket>> m_sinks;
	std::vector<Source *> m_sources; /* until the program ends */
	struct adv_rng m_rng;
};

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: ns3_fat_tree K MICROSECONDS SEED MBPS\n");
		return 2;
	}
	uint64_t us = strtoull(argv[2], nullptr, 0), seed = strtoull(argv[3], nullptr, 0);
	uint64_t mbps = strtoull(argv[4], nullptr, 0);
	double began = Processor(), ready, wall;
	long before = MemoryKib();

	Time::SetResolution(Time::PS);
	Network network((uint32_t)strtoul(argv[1], nullptr, 0));
	network.Build(seed);
	network.Send(seed, mbps);
	Simulator::Stop(MicroSeconds(us));
	ready = Processor();
	wall = Wall();
	Simulator::Run();
	wall = Wall() - wall;
	printf("hosts=%u setup_s=%.4f cpu_s=%.4f wall_s=%.4f events=%llu packets=%llu sent=%llu "
	       "kib=%ld\n",
	       network.Hosts(), ready - began, Processor() - ready, wall,
	       (unsigned long long)Simulator::GetEventCount(), (unsigned long long)received,
	       (unsigned long long)sent, MemoryKib() - before);
	return wrong != 0;
}
