import { connect } from "node:net";

connect(1);
