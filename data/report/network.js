/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Draws the topology: hosts below, switches above them by level, or in a circle. The colour of a
 * cable shows its use. The bottleneck and the cycle of a deadlock are marked. */

const SVG = "http://www.w3.org/2000/svg";
const EACH_HOST = 40; /* if there are more hosts, all hosts of a switch are drawn as one node */
const MOST_SWITCHES = 256;
const NARROW = 480, WIDE = 960, ROW_HEIGHT = 92, MARGIN = 26, CROWDED = 16;
const PHONE = 544; /* on a narrower screen, a wide picture is drawn taller and as a whole */
const CLASSES = 5;

function svgElement(tag, attributes, ...children) {
	const e = document.createElementNS(SVG, tag);

	for (const [key, value] of Object.entries(attributes))
		e.setAttribute(key, typeof value === "number" ? value.toFixed(1) : value);
	e.append(...children);
	return e;
}

/* Returns the name of a node. In the data, the numbers of switches follow those of hosts. */
function nodeName(node, hosts) {
	return node < hosts ? "h" + node : "s" + (node - hosts);
}

/* Positions of nodes. links: [node, port, node, port, use in this direction, use in the other direction]; use is in
 * millionths. */
class Topology {
	constructor(data) {
		this.hosts = data.result.hosts;
		this.switches = data.result.switches;
		this.links = data.links;
		this.nodes = Array.from({length: this.hosts + this.switches}, () => ({x: 0, y: 0, rank: 0, hosts: 0, home: -1}));
		this.eachHost = this.hosts <= EACH_HOST;
		this.width = (this.eachHost ? this.hosts : 0) > 18 || this.switches > 10 ? WIDE : NARROW;
		this.gap = WIDE;
		this.nameRoom = 90; /* half of the width of the bottleneck's name */
		this.rowHeight = ROW_HEIGHT;
		if (this.width === WIDE && innerWidth < PHONE) {
			this.rowHeight *= 2.2;
			this.nameRoom *= 2.6;
		}
		for (const [a, , b] of this.links)
			for (const [node, peer] of [[a, b], [b, a]])
				if (node < this.hosts) {
					this.nodes[node].home = peer;
					this.nodes[peer].hosts++;
				}
		this.rank(data.levels);
		if (this.isCircle())
			this.placeCircle();
		else
			this.placeLevels();
	}

	isSwitch(node) {
		return node >= this.hosts;
	}

	switchNodes() {
		return [...this.nodes.keys()].filter((n) => this.isSwitch(n));
	}

	/* Sets the rank of each switch: its level if the topology has levels, otherwise its distance from hosts. */
	rank(levels) {
		const known = levels.some((level) => level !== levels[0]);
		let changed = !known;

		for (const n of this.switchNodes())
			this.nodes[n].rank = known ? levels[n - this.hosts] : this.nodes[n].hosts ? 0 : this.switches;
		while (changed) {
			changed = false;
			for (const [a, , b] of this.links)
				for (const [node, peer] of [[this.nodes[a], this.nodes[b]], [this.nodes[b], this.nodes[a]]])
					if (this.isSwitch(a) && this.isSwitch(b) && node.rank > peer.rank + 1) {
						node.rank = peer.rank + 1;
						changed = true;
					}
		}
		this.ranks = 1 + Math.max(0, ...this.switchNodes().map((n) => this.nodes[n].rank));
	}

	/* Handles switches of the same level whose cables form a ring. */
	isCircle() {
		const trunks = this.links.filter(([a, , b]) => this.isSwitch(a) && this.isSwitch(b)).length;

		this.circle = this.ranks === 1 && this.switches >= 3 && this.switches <= 32 && trunks >= this.switches;
		return this.circle;
	}

	noteGap(gap) {
		this.gap = Math.min(this.gap, gap);
	}

	hostsOf(node) {
		return [...Array(this.hosts).keys()].filter((h) => this.nodes[h].home === node);
	}

	/* Places hosts in the order of their switches, and each of these switches above the middle of its hosts. */
	placeLowest(bottom) {
		const low = this.switchNodes().filter((n) => this.nodes[n].rank === 0 || this.nodes[n].hosts);
		const share = (n) => this.eachHost && this.nodes[n].hosts ? this.nodes[n].hosts : 1;
		const slots = this.switches ? low.reduce((sum, n) => sum + share(n), 0) : this.hosts;
		const step = (this.width - 2 * MARGIN) / slots;
		let at = 0;

		this.noteGap(step);
		if (!this.switches)
			this.nodes.forEach((node, h) => Object.assign(node, {x: MARGIN + step * (h + 0.5), y: bottom}));
		for (const n of low) {
			this.nodes[n].x = MARGIN + step * (at + share(n) / 2);
			this.hostsOf(n).forEach((h, i) => {
				this.nodes[h].x = this.eachHost ? MARGIN + step * (at + i + 0.5) : this.nodes[n].x;
				this.nodes[h].y = bottom;
			});
			at += share(n);
		}
	}

	placeLevels() {
		const bottom = this.switches ? MARGIN + this.ranks * this.rowHeight : 2 * MARGIN;

		this.height = bottom + MARGIN;
		this.placeLowest(bottom);
		for (let r = 0; r < this.ranks; r++) {
			const row = this.switchNodes().filter((n) => this.nodes[n].rank === r);

			if (row.length)
				this.noteGap((this.width - 2 * MARGIN) / row.length);
			row.forEach((n, i) => {
				this.nodes[n].y = bottom - (r + 1) * this.rowHeight;
				if (r > 0 && !this.nodes[n].hosts)
					this.nodes[n].x = MARGIN + (this.width - 2 * MARGIN) * (i + 0.5) / row.length;
			});
		}
	}

	placeCircle() {
		const inner = 100, outer = 168, turn = 2 * Math.PI / this.switches;

		this.width = NARROW;
		this.height = 2 * (outer + MARGIN);
		this.noteGap(inner * turn);
		this.switchNodes().forEach((n, s) => {
			const angle = turn * s - Math.PI / 2, hosts = this.hostsOf(n);
			const place = (node, radius, a) => Object.assign(node,
				{x: this.width / 2 + radius * Math.cos(a), y: this.height / 2 + radius * Math.sin(a)});

			place(this.nodes[n], inner, angle);
			hosts.forEach((h, i) => place(this.nodes[h], outer,
				angle + (this.eachHost ? (i + 0.5) / hosts.length - 0.5 : 0) * turn * 0.9));
			this.noteGap(outer * turn * 0.9 / (this.eachHost ? Math.max(1, hosts.length) : 1));
		});
	}

	/* Returns the path of a cable: a straight line between levels, an arc between switches of the same level. */
	path(a, b) {
		const from = this.nodes[a], to = this.nodes[b], far = Math.abs(from.x - to.x);
		const arc = !this.circle && from.y === to.y && far > 1.5 * this.gap && this.ranks > 1;
		const bend = arc ? `Q${((from.x + to.x) / 2).toFixed(1)} ${(from.y - 30).toFixed(1)}` : "L";

		return `M${from.x.toFixed(1)} ${from.y.toFixed(1)}${bend} ${to.x.toFixed(1)} ${to.y.toFixed(1)}`;
	}
}

function drawNode(t, node, label, marked) {
	const {x, y} = t.nodes[node], half = t.gap < 30 ? t.gap * 0.42 : 15, tall = Math.min(half, 10);
	const kind = marked ? "node at-bottleneck" : "node", g = svgElement("g", {}, svgElement("title", {}, label));

	g.append(t.isSwitch(node)
		? svgElement("rect", {class: kind, x: x - half, y: y - tall, width: 2 * half, height: 2 * tall, rx: tall * 0.4})
		: svgElement("circle", {class: kind, cx: x, cy: y, r: half * 0.85}));
	if (t.gap >= 21)
		g.append(svgElement("text", {class: t.gap < 30 ? "small" : "", x, y: y + 3.5, "text-anchor": "middle"}, label));
	return g;
}

function drawNodes(svg, t, bottleneck) {
	const marked = (n) => bottleneck && (n === bottleneck.peer || n === t.hosts + bottleneck.switch);

	t.nodes.forEach((node, n) => {
		if (t.isSwitch(n) || t.eachHost)
			svg.append(drawNode(t, n, nodeName(n, t.hosts), marked(n)));
		else if (n === 0 || t.nodes[n - 1].home !== node.home)
			svg.append(drawNode(t, n, `${t.nodes[node.home] ? t.nodes[node.home].hosts : 1} h`, false));
	});
}

function percent(millionths) {
	return (millionths / 1e4).toFixed(1) + " %";
}

function drawLinks(svg, t, figure) {
	const use = (link) => Math.max(link[4], link[5]);
	const name = (node) => nodeName(node, t.hosts);

	for (const link of [...t.links].sort((a, b) => use(a) - use(b))) { /* cables with more use are on top */
		const [a, , b, , busy, back] = link, d = t.path(a, b);
		const shade = Math.min(CLASSES - 1, Math.floor(use(link) / 1e6 * CLASSES));
		const hit = svgElement("path", {class: "hit", d});

		svg.append(svgElement("path", {class: `link u${shade}`, "data-busy": String(use(link)), d}), hit);
		hit.addEventListener("mousemove", (event) => showTip(figure, event,
			[`${name(a)} – ${name(b)}`, `${name(a)} to ${name(b)}: ${percent(busy)}`, `${name(b)} to ${name(a)}: ${percent(back)}`]));
		hit.addEventListener("mouseleave", () => hideTip(figure));
	}
}

/* Marks the cable of the bottleneck. Its name is above the upper end of the cable. */
function drawBottleneck(svg, t, b) {
	const from = t.hosts + b.switch, a = t.nodes[from], z = t.nodes[b.peer], up = a.y <= z.y ? a : z;

	svg.append(svgElement("path", {class: "bottleneck", d: t.path(from, b.peer)}));
	return svgElement("text", {class: "bottleneck-name", x: Math.max(t.nameRoom, Math.min(up.x, t.width - t.nameRoom)), y: Math.max(13, up.y - 15),
		"text-anchor": "middle"}, `bottleneck: ${nodeName(from, t.hosts)} → ${nodeName(b.peer, t.hosts)}`);
}

/* Draws an arrow from each switch of a deadlock to the switch for which it waits. */
function drawCycle(svg, t, cycle) {
	for (const wait of cycle) {
		const node = t.hosts + wait.switch;
		const link = t.links.find((l) => (l[0] === node && l[1] === wait.port) || (l[2] === node && l[3] === wait.port));
		const a = t.nodes[node], b = t.nodes[link[0] === node ? link[2] : link[0]];
		const far = Math.hypot(b.x - a.x, b.y - a.y), dx = (b.x - a.x) / far, dy = (b.y - a.y) / far;

		if (far >= 1)
			svg.append(svgElement("path", {class: "cycle", "data-switch": String(wait.switch), "data-port": String(wait.port),
				d: `M${a.x + dx * 19 + dy * 7} ${a.y + dy * 19 - dx * 7}L${b.x - dx * 24 + dy * 7} ${b.y - dy * 24 - dx * 7}`,
				"marker-end": "url(#arrow)"}));
	}
}

function arrowHead() {
	return svgElement("defs", {}, svgElement("marker", {id: "arrow", viewBox: "0 0 10 10", refX: "8", refY: "5",
		markerWidth: "5", markerHeight: "5", orient: "auto"}, svgElement("path", {class: "arrow", d: "M0 0L10 5L0 10z"})));
}

function networkLegend(t, deadlock) {
	const list = element("div", {class: "legend dim"});

	for (let i = 0; i < CLASSES; i++)
		list.append(element("span", {}, element("span", {class: "key", style: `color:var(--u${i})`}),
			`${100 * i / CLASSES} to ${100 * (i + 1) / CLASSES} %`));
	if (deadlock)
		list.append(element("span", {}, element("span", {class: "key dashed", style: "color:var(--alarm)"}), "the deadlock's cycle"));
	return list;
}

/* Returns a button that only phones show: it makes the names of a wide picture readable, which then scrolls. */
function enlargeButton(figure) {
	const button = element("button", {type: "button", class: "enlarge"}, "Enlarge");

	button.addEventListener("click", () => {
		button.textContent = figure.classList.toggle("enlarged") ? "Whole network" : "Enlarge";
	});
	return button;
}

function addNetwork(parent, data) {
	const t = new Topology(data), deadlock = data.result.deadlock, b = data.bottleneck;
	const svg = svgElement("svg", {class: t.gap < CROWDED ? "net crowded" : "net", viewBox: `0 0 ${t.width} ${t.height}`, role: "img"},
		svgElement("title", {}, "The topology, with the use of its cables"), arrowHead());
	const wide = t.width > NARROW, heading = element("div", {class: "heading"}, element("h3", {}, "Network"));
	const figure = element("figure", {class: wide ? "wide" : "", "data-plot": "network"},
		heading, element("div", {class: wide ? "scroll" : ""}, svg));

	if (wide)
		heading.append(enlargeButton(figure));

	drawLinks(svg, t, figure);
	const name = b ? [drawBottleneck(svg, t, b)] : [];
	drawNodes(svg, t, b);
	svg.append(...name);
	drawCycle(svg, t, deadlock);
	figure.append(networkLegend(t, deadlock.length > 0), element("figcaption", {},
		"The colour of a cable shows its use over the whole run, in the busier direction.",
		t.eachHost ? "" : " The hosts of a switch are drawn as one node."));
	parent.append(figure);
}

/* Adds a table of the busiest directions of cables. */
function addBusiest(parent, data) {
	const ways = data.links.flatMap(([a, pa, b, pb, busy, back]) => [[a, pa, b, pb, busy], [b, pb, a, pa, back]]);
	const table = element("table", {}, element("tr", {}, ...["from", "to", "used"].map((h) => element("th", {}, h))));

	ways.sort((x, y) => y[4] - x[4]);
	for (const [a, pa, b, pb, busy] of ways.slice(0, 10))
		table.append(element("tr", {}, ...[`${nodeName(a, data.result.hosts)} port ${pa}`,
			`${nodeName(b, data.result.hosts)} port ${pb}`, percent(busy)].map((c) => element("td", {}, c))));
	parent.append(element("details", {}, element("summary", {}, "The busiest cables"), element("div", {class: "table"}, table)));
}
